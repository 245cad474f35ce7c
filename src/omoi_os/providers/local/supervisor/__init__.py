"""The process that owns one local sandbox."""
