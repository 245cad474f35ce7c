"""Eight live tabs in one browser, which opens at most six HTTP connections to a server."""

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
        expect(tab.get_by_text("It no longer accepts messages")).to_be_visible()


def test_drafts_messages_and_preferences_are_shared_by_tabs(context: BrowserContext, platform: Platform) -> None:
    task = ticking(platform, times=10_000)
    one, other = context.new_page(), context.new_page()
    for tab in (one, other):
        tab.goto(f"/sandbox/{task['sandbox_id']}")
    drafts = [tab.get_by_label("Message to the agent") for tab in (one, other)]
    drafts[0].fill("said from one tab")
    expect(drafts[1]).to_have_value("said from one tab")
    one.get_by_role("button", name="Send", exact=True).click()
    for draft in drafts:
        expect(draft).to_have_value("")

    expect(other.locator("html")).to_have_attribute("data-theme", "light")
    one.get_by_role("button", name="Account: ").click()
    one.get_by_role("menuitem", name="Toggle dark mode").click()
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")
    platform.post(f"/tasks/{task['id']}/cancel")


def test_a_message_resent_in_one_tab_is_no_longer_unsent_in_the_other(
    quiet: BrowserContext, platform: Platform
) -> None:
    task = ticking(platform, times=10_000)
    one, other = quiet.new_page(), quiet.new_page()
    one.goto(f"/sandbox/{task['sandbox_id']}")
    one.route("**/messages", lambda route: route.abort())
    one.get_by_label("Message to the agent").fill("said at the second try")
    one.get_by_role("button", name="Send", exact=True).click()
    expect(one.get_by_text("Not sent:")).to_be_visible()
    other.goto(f"/sandbox/{task['sandbox_id']}")
    other.get_by_role("button", name="Send again").click()
    for tab in (other, one):
        expect(tab.get_by_text("Not sent:")).to_have_count(0)
        expect(tab.get_by_role("feed").get_by_text("said at the second try")).to_be_visible()
    platform.post(f"/tasks/{task['id']}/cancel")
