"""A sandbox's page on a phone, which shows one view at a time."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.runs import a_run, sandbox_of
from tests.e2e.platform import Platform

#: A reply before each command keeps the commands in separate rows.
TALKING = """
match: 'a talkative run'
steps:
  - text: 'One more **step** that has a few words to say about what comes next, more than fit on one line.'
    tool: Bash
    input: {command: echo tick}
    delay_s: 0.2
    repeat: 10000
"""

#: The gaps between rows.
GAPS = """box => [...box.querySelectorAll(':scope > [role=feed] > [role=article]')]
    .map(row => row.getBoundingClientRect())
    .sort((one, other) => one.top - other.top)
    .map((row, index, all) => index === 0 ? 0 : Math.abs(row.top - all[index - 1].bottom))"""


def test_the_timeline_has_most_of_a_phones_height_and_pages_have_names(page: Page, platform: Platform) -> None:
    task = a_run(platform, "a talkative run", TALKING)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/sandbox/{sandbox_of(platform, task)}")
    box = page.get_by_role("feed", name="Events").locator("..")
    expect(box.get_by_role("article").nth(3)).to_be_visible()
    assert box.evaluate("box => box.clientHeight / innerHeight") > 0.5
    for name in ("Board", "Sandboxes", "Activity", "Health"):
        label = page.get_by_role("navigation", name="Main").get_by_text(name, exact=True)
        expect(label).to_be_in_viewport(ratio=1)
        assert label.evaluate("label => label.getBoundingClientRect().width") > 20
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Message to the agent").focus()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    platform.post(f"/tasks/{task['id']}/cancel")


def place(box: Locator) -> float:
    return float(box.evaluate("box => box.scrollTop"))


def look_elsewhere(page: Page) -> None:
    """Open another view, and return when more events have arrived."""
    page.get_by_role("tab", name="Details").click()
    expect(page.get_by_role("tabpanel", name="Details")).to_be_visible()
    expect(page.get_by_role("feed")).to_have_count(0)
    moment = page.get_by_role("slider", name="Replay position")
    enough = int(moment.get_attribute("aria-valuemax") or 0) + 8
    page.wait_for_function(
        "([slider, enough]) => Number(slider.ariaValueMax) > enough", arg=[moment.element_handle(), enough]
    )
    page.get_by_role("tab", name="Timeline").click()


def test_the_timeline_keeps_its_scroll_position(page: Page, platform: Platform) -> None:
    task = a_run(platform, "a talkative run", TALKING)
    page.set_viewport_size({"width": 390, "height": 620})
    page.goto(f"/sandbox/{sandbox_of(platform, task)}")
    box = page.get_by_role("feed", name="Events").locator("..")
    expect(box.get_by_role("article").nth(8)).to_be_visible()

    look_elsewhere(page)
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)
    assert box.evaluate("box => box.scrollHeight - box.scrollTop - box.clientHeight") <= 64

    box.hover()
    page.mouse.wheel(0, -120)
    jump = page.get_by_role("button", name="Jump to latest")
    expect(jump).to_have_text(re.compile(r"\(\d+ new\)"))
    before = place(box)
    assert before > 0

    look_elsewhere(page)
    expect(jump).to_be_visible()
    assert place(box) == pytest.approx(before, abs=1)
    assert max(box.evaluate(GAPS)) <= 1
    jump.click()
    expect(jump).to_have_count(0)
    platform.post(f"/tasks/{task['id']}/cancel")
