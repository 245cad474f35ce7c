"""The audit trail is written and read over the API."""

from tests.api.conftest import ada, admin, app, bus, settings, worker

__all__ = ["ada", "admin", "app", "bus", "settings", "worker"]
