"""The members of projects and their roles."""
