"""Forges: where repositories live, and their mirrors on this machine."""
