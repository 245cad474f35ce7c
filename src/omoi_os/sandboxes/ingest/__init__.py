"""Storing posted events: validated, numbered, de-duplicated, committed, acknowledged."""
