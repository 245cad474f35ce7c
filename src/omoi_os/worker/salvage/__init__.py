"""Salvage: save the work of a sandbox before it is destroyed."""
