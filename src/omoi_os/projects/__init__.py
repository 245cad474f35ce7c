"""Projects: a repository plus settings."""
