"""Everything works by keyboard alone, and the focus is never lost."""

import json
import re
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.platform import Platform

_WRITE = {"tool": "Write", "input": {"file_path": "app.py", "content": "print(1)\n"}}


def tab_to(page: Page, place: Locator) -> None:
    """Press Tab until the element is focused."""
    expect(place).to_be_visible()
    for _ in range(120):
        if place.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {place}")


def test_everything_works_by_keyboard_alone(page: Page, platform: Platform) -> None:
    word = f"keys{uuid4().hex[:8]}"
    steps = [
        _WRITE,
        {"tool": "Bash", "input": {"command": "echo on"}, "delay_s": 0.5, "repeat": 1000},
        {"text": "x"},
    ]
    platform.script(word, json.dumps({"match": f"^{word}", "steps": steps}))
    # With several projects none is preselected, so the field for a new one is visible.
    platform.project(f"another-{word}")
    waiting = platform.ticket(f"Nobody knows {word}")
    page.goto(f"/?q={word}")
    expect(page.get_by_role("link", name=f"Nobody knows {word}", exact=True)).to_be_visible()

    page.keyboard.press("c")
    window = page.get_by_role("dialog", name="New ticket")
    tab_to(page, window.get_by_label("Title"))
    page.keyboard.type(word)
    tab_to(page, window.get_by_label("New project"))
    page.keyboard.type(f"keys/{word}")
    tab_to(page, window.get_by_role("button", name="Create ticket"))
    page.keyboard.press("Enter")
    expect(window).to_be_hidden()
    tab_to(page, page.get_by_role("link", name=word, exact=True))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("link", name="Watch the agent"))
    page.keyboard.press("Enter")

    page.wait_for_url("**/sandbox/*")
    tab_to(page, page.get_by_label("Message to the agent"))
    page.keyboard.type("Mind the gap.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Messages").get_by_text("Mind the gap.")).to_be_visible()
    tab_to(page, page.get_by_role("tabpanel").get_by_role("button", name=re.compile("^app.py")))
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Diff").get_by_text("print(1)").first).to_be_visible()

    page.keyboard.press(",")
    tab_to(page, page.get_by_role("button", name="Back to live"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Back to live")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page.get_by_role("link", name=word, exact=True)).to_be_visible()
    (ticket,) = [each for each in platform.get("/tickets", q=word)["items"] if each["id"] != waiting["ticket_id"]]
    platform.post(f"/tasks/{ticket['tasks'][0]['id']}/cancel")


def focused_in(window: Locator) -> bool:
    return bool(window.evaluate("(element) => element.contains(document.activeElement)"))


@pytest.mark.parametrize(
    ("status", "opener", "name", "first"),
    [
        ("failed", "New ticket", "New ticket", "Title"),
        ("failed", "Open command palette", "Command palette", "Search everything"),
        ("blocked", "Cancel ticket", "Cancel this ticket?", "Keep ticket"),
        ("failed", "Retry task", "Retry task", "Message to the agent"),
    ],
)
def test_a_dialog_keeps_the_focus_and_returns_it(
    page: Page, platform: Platform, status: str, opener: str, name: str, first: str
) -> None:
    task = platform.ticket("Nobody knows how")
    platform.until(task["id"], "failed")
    if status == "blocked":
        task = platform.ticket("It comes second", project_id=task["project_id"], depends_on=[task["ticket_id"]])
    page.goto(f"/tickets/{task['ticket_id']}")
    button = page.get_by_role("button", name=opener, exact=True)
    tab_to(page, button)
    page.keyboard.press("Enter")

    window = page.get_by_role("dialog", name=name, exact=True)
    expect(window.get_by_label(first).or_(window.get_by_role("button", name=first))).to_be_focused()
    for key in ("Tab", "Shift+Tab"):
        for _ in range(15):
            page.keyboard.press(key)
            assert focused_in(window)
    page.keyboard.press("Escape")
    expect(window).to_be_hidden()
    expect(button).to_be_focused()
