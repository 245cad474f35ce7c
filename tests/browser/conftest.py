"""A real browser on a real platform."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.conftest import IN_MEMORY
from tests.e2e.platform import Platform, one_for_all
from tools.chromium import find_chromium

#: Machines under load are slow.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def platform(prepared: Path) -> Iterator[Platform]:
    """A platform for the whole session; each test uses its own project."""
    with one_for_all(prepared, place=IN_MEMORY) as shared:
        yield shared


@pytest.fixture(scope="session")
def browser(prepared: Path) -> Iterator[Browser]:
    """Start the browser after `prepared`, which needs its own event loop: Playwright keeps one running."""
    chromium = find_chromium()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium.path, env={**os.environ, **chromium.environment}, args=list(chromium.arguments)
        )
        yield launched
        launched.close()


def sign_in_link(platform: Platform) -> str:
    """Return a new link from `omoi sign-in`."""
    command = platform.command("sign-in")
    said = subprocess.run(command, env=platform.environment, check=True, capture_output=True, text=True).stdout
    found = re.search(r"http://\S+", said)
    assert found, said
    return found[0]


def sign_in(context: BrowserContext, platform: Platform) -> BrowserContext:
    """Sign a browser in with a key, which is faster than a link; links have separate tests."""
    answer = context.request.post("/api/v1/auth/session", headers={"Authorization": f"Bearer {platform.token}"})
    assert answer.ok, answer.text()
    return context


@pytest.fixture
def open_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Open browser contexts without a session. Console errors and warnings fail the test."""
    opened: list[BrowserContext] = []
    complaints: list[str] = []

    def complain(message: ConsoleMessage) -> None:
        # Chromium reports each rejected request; some tests provoke them.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            complaints.append(message.text)

    def make(**options: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", complain)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        opened.append(context)
        return context

    yield make
    for context in opened:
        context.close()
    assert complaints == []


@pytest.fixture
def context(open_context: Callable[..., BrowserContext], platform: Platform) -> BrowserContext:
    """A signed-in browser context."""
    return sign_in(open_context(base_url=platform.url), platform)


@pytest.fixture
def quiet(browser: Browser, platform: Platform) -> Iterator[BrowserContext]:
    """A signed-in browser context in which console messages do not fail the test."""
    errors: list[str] = []
    made = browser.new_context(base_url=platform.url, viewport={"width": 1280, "height": 800})
    made.set_default_timeout(PATIENCE_MS)
    made.on("weberror", lambda error: errors.append(str(error.error)))
    yield sign_in(made, platform)
    made.close()
    assert errors == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page in a signed-in browser."""
    return context.new_page()
