"""Upkeep: periodic duties for repositories, quotas, retention and free space."""
