"""Compares what should be with what is, and acts."""
