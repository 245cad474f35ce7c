"""Eight tabs of one browser, all live: to one server a browser holds six connections for requests and no more."""

from playwright.sync_api import BrowserContext, expect

from tests.browser.ticking import ticking
from tests.e2e.platform import Platform

TABS = 8


def test_eight_tabs_on_sandboxes_are_live_at_once(context: BrowserContext, platform: Platform) -> None:
    tasks = [ticking(platform, times=10_000) for _ in range(2)]
    tabs = []
    for number in range(TABS):
        tab = context.new_page()
        tab.goto(f"/sandbox/{tasks[number % 2]['sandbox_id']}")
        expect(tab.get_by_role("feed").get_by_role("article").first).to_be_visible()
        tabs.append(tab)

    for task in tasks:
        platform.post(f"/sandboxes/{task['sandbox_id']}/messages", {"content": f"to {task['id']}"})

    for number, tab in enumerate(tabs):
        told = tab.get_by_role("feed").get_by_text(f"to {tasks[number % 2]['id']}")
        expect(told).to_be_visible()
        assert tab.evaluate("fetch('/api/v1/auth/me').then((answer) => answer.status)") == 200
    for task in tasks:
        platform.post(f"/tasks/{task['id']}/cancel")
    for tab in tabs:
        expect(tab.get_by_text("It takes no more messages")).to_be_visible()
