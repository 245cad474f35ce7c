"""Attacks run inside the sandboxes of the platform that end-to-end tests use, or call its API."""

from tests.api.conftest import ada, admin, app, bob, bus, settings, worker
from tests.e2e.conftest import platform

__all__ = ["ada", "admin", "app", "bob", "bus", "platform", "settings", "worker"]
