"""The local forge: bare repositories that the platform hosts itself."""
