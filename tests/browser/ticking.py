"""Runs to watch: an agent that gives a command again and again, and what of it a page shows."""

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.e2e.platform import Json, Platform

_TICKS = """
match: '%(word)s'
steps:
  - tool: Bash
    input: {command: echo tick}
    delay_s: %(pause)s
    repeat: %(times)d
  - tool: Bash
    input: {command: echo end > end}
  - text: The run is over.
"""


def ticking(platform: Platform, *, times: int, pause: float = 0.3) -> Json:
    """A task whose agent is at work, a command at a time."""
    word = f"ticking{uuid4().hex[:8]}"
    platform.script(word, _TICKS % {"word": word, "times": times, "pause": pause})
    task = platform.ticket(word, project_id=platform.project(word))
    running = platform.until(task["id"], "running")
    platform.event(running["sandbox_id"], "agent.tool_completed")
    return running


def calls_on_page(page: Page) -> list[int]:
    """The numbers of all tool calls that a timeline shows, from its top to its end, as often as it shows them."""
    page.get_by_role("group", name="Kinds of events").get_by_role("button", name="Tools").click()
    feed = page.get_by_role("feed")
    expect(feed.get_by_role("article").first).to_be_visible()
    amount = int(feed.get_by_role("article").first.get_attribute("aria-setsize") or 0)
    seen: dict[int, int] = {}
    while len(seen) < amount:
        for article in feed.get_by_role("article").all():
            place = int(article.get_attribute("aria-posinset") or 0)
            seen[place] = int(article.locator("[data-seq]").first.get_attribute("data-seq") or 0)
        page.keyboard.press("k")
    return [seen[place] for place in sorted(seen)]


def calls_of_api(platform: Platform, sandbox_id: str) -> list[int]:
    events = platform.events(sandbox_id)
    return [event["seq"] for event in events if event["event_type"] == "agent.tool_use"]
