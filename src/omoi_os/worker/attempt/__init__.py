"""One attempt at a task: its modes, iterations, checks and ending."""
