"""Sandboxes on this machine, made with bubblewrap."""
