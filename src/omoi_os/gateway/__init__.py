"""The only network path out of a sandbox."""
