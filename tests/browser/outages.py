"""Ways to make the server unreachable for a while."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import BrowserContext

from tests.e2e.platform import Platform


@contextmanager
def without_api(platform: Platform, _: BrowserContext) -> Iterator[None]:
    """Kill the API and suspend the process that would restart it."""
    assert platform.process is not None
    api = platform.part("api")
    os.kill(platform.process.pid, signal.SIGSTOP)
    os.kill(api, signal.SIGKILL)
    try:
        yield
    finally:
        os.kill(platform.process.pid, signal.SIGCONT)
        platform.get("/auth/me")


@contextmanager
def without_platform(platform: Platform, _: BrowserContext) -> Iterator[None]:
    """Kill everything except the sandboxes."""
    platform.kill()
    try:
        yield
    finally:
        platform.start()


@contextmanager
def without_network(_: Platform, context: BrowserContext) -> Iterator[None]:
    """Take the browser offline; the agent is not affected."""
    context.set_offline(True)
    try:
        yield
    finally:
        context.set_offline(False)
