"""Sandboxes at Daytona, through its own SDK."""
