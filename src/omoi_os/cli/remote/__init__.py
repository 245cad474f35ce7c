"""Client of a running platform."""
