"""Signing in with a single-use link or an API key."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import sign_in_link
from tests.e2e.platform import Platform


def test_a_link_signs_in_once(platform: Platform, open_context: Callable[..., BrowserContext]) -> None:
    link = sign_in_link(platform)
    first, second = open_context().new_page(), open_context().new_page()
    first.goto(link)
    expect(first.get_by_role("navigation", name="Main")).to_be_visible()
    assert "code" not in first.url

    second.goto(link)
    expect(second.get_by_text("omoi sign-in")).to_be_visible()
    second.get_by_role("link", name="Open OmoiOS").click()
    expect(second.get_by_role("heading", name="Sign in to OmoiOS")).to_be_visible()


def test_a_wrong_link_says_how_to_get_another(platform: Platform, open_context: Callable[..., BrowserContext]) -> None:
    page = open_context().new_page()
    page.goto(f"{platform.url}/sign-in?code=guessed")
    expect(page.get_by_text("omoi sign-in")).to_be_visible()


def test_a_stranger_sees_nothing(platform: Platform, open_context: Callable[..., BrowserContext]) -> None:
    task = platform.ticket("A title that nobody else may read")
    page = open_context().new_page()
    for path in ("/", f"/tickets/{task['ticket_id']}", "/sandboxes", "/activity", "/health-overview"):
        page.goto(platform.url + path)
        expect(page.get_by_role("heading", name="Sign in to OmoiOS")).to_be_visible()
        expect(page.get_by_text("nobody else may read")).to_have_count(0)


def test_an_api_key_signs_in_too(platform: Platform, open_context: Callable[..., BrowserContext]) -> None:
    page = open_context().new_page()
    page.goto(platform.url)
    page.get_by_label("Or use an API key").fill("omoi_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("This token is unknown.")).to_be_visible()
    page.get_by_label("Or use an API key").fill(platform.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert platform.token not in page.content()


def test_the_page_needs_nothing_from_elsewhere(page: Page, platform: Platform) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()
    assert asked
    assert all(address.startswith(platform.url) for address in asked)
