"""Terminal output: tables, log lines, progress."""
