"""Tasks: one unit of work for one agent; the table is the queue."""
