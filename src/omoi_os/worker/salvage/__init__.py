"""Saving what a sandbox still holds after its worker ended."""
