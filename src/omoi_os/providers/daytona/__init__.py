"""Sandboxes at Daytona, through its SDK."""
