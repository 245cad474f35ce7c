"""The same application and callers as in the API's own tests."""

from tests.api.conftest import ada, admin, anonymous, app, bob, bus, settings, worker

__all__ = ["ada", "admin", "anonymous", "app", "bob", "bus", "settings", "worker"]
