"""Sessions to watch: an agent that repeats a command, and the events that a page shows."""

import re
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
    """Return a task whose agent runs one command after another."""
    word = f"ticking{uuid4().hex[:8]}"
    platform.script(word, _TICKS % {"word": word, "times": times, "pause": pause})
    task = platform.ticket(word, project_id=platform.project(word))
    running = platform.until(task["id"], "running")
    platform.event(running["sandbox_id"], "agent.tool_completed")
    return running


def events_on_page(page: Page) -> list[int]:
    """Replay the session and return the numbers of all events on the page, duplicates included."""
    moment = page.get_by_role("slider", name="Replay position")
    moment.press("Home")
    seen = []
    for place in range(int(moment.get_attribute("aria-valuemax") or 0) + 1):
        expect(moment).to_have_attribute("aria-valuenow", str(place))
        found = re.match(r"event (\d+), ", moment.get_attribute("aria-valuetext") or "")
        assert found
        seen.append(int(found[1]))
        moment.press("ArrowRight")
    page.keyboard.press("Escape")
    return sorted(seen + _heartbeats(page))


def _heartbeats(page: Page) -> list[int]:
    """Return the numbers of the heartbeats, which a replay skips."""
    chip = page.get_by_role("group", name="Event types").get_by_role("button", name="Heartbeats")
    if chip.count() == 0:
        return []
    chip.click()
    feed = page.get_by_role("feed")
    expect(feed.get_by_role("article").first).to_contain_text("heartbeat")
    for closed in feed.locator("[data-toggle][aria-expanded=false]").all():
        closed.click()
    listed = feed.get_by_role("group", name="Heartbeats").get_by_role("listitem").all_text_contents()
    return [int(line.split()[0].removeprefix("#")) for line in listed]
