"""The overview of the platform, for people."""
