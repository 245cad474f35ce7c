"""Dispatch: from a pending task to its running sandbox."""
