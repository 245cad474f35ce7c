"""The only door out of a sandbox."""
