"""Periodic duties: repositories, quotas, retention, free space."""
