"""Fault tests break the platforms that end-to-end tests use."""

from tests.e2e.conftest import make_platform, platform

__all__ = ["make_platform", "platform"]
