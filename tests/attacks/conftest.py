"""Attacks run inside the sandboxes of the platform that end-to-end tests use."""

from tests.e2e.conftest import platform

__all__ = ["platform"]
