"""Accessibility: axe finds no violation on any page, wide or narrow, light or dark, with any dialog open."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import sign_in
from tests.e2e.platform import Platform

WIDTHS = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 390, "height": 844}}

#: Every type of card: text, thinking-free markdown, edits, a failing command, many small ones, colours.
LIVELY = [
    {
        "tool": "Write",
        "input": {"file_path": "app.py", "content": "import sys\n\n\ndef main() -> None:\n    print(1)\n"},
    },
    {"tool": "Edit", "input": {"file_path": "app.py", "old_string": "print(1)", "new_string": "print(2)"}},
    {"tool": "Bash", "input": {"command": "printf '\\033[31mred\\033[32mgreen\\033[33mamber\\033[34mblue\\033[0m\\n'"}},
    {"tool": "Bash", "input": {"command": "echo it goes wrong; exit 3"}},
    {"tool": "Bash", "input": {"command": "ls"}, "repeat": 4},
    {"text": "# Done\n\n- **one** `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nprint(2)\n```\n"},
]


@dataclass(frozen=True)
class Things:
    """The objects that the pages show."""

    project_id: str
    ticket_id: str
    failed_ticket_id: str
    sandbox_id: str
    #: One whose agent is at work.
    busy_id: str
    busy_ticket_id: str


@pytest.fixture(scope="module")
def things(platform: Platform) -> Iterator[Things]:
    word = f"lively{uuid4().hex[:8]}"
    project_id = platform.project(word)
    platform.script(word, json.dumps({"match": f"{word} one", "steps": LIVELY}))
    busy_steps = [{"tool": "Bash", "input": {"command": "echo busy"}, "delay_s": 2, "repeat": 1000}, {"text": "x"}]
    platform.script(f"{word}-b", json.dumps({"match": f"{word} busy", "steps": busy_steps}))
    done = platform.ticket(f"{word} one", project_id=project_id, description="A *text*.", acceptance=["cat app.py"])
    failed = platform.ticket("Nobody knows how", project_id=project_id)
    busy = platform.ticket(f"{word} busy", project_id=project_id)
    platform.finished(done["id"])
    platform.finished(failed["id"])
    busy_id = platform.until(busy["id"], "running")["sandbox_id"]
    platform.event(busy_id, "agent.tool_completed")
    yield Things(
        project_id=project_id,
        ticket_id=done["ticket_id"],
        failed_ticket_id=failed["ticket_id"],
        sandbox_id=platform.sandboxes(done["id"])[0]["id"],
        busy_id=str(busy_id),
        busy_ticket_id=busy["ticket_id"],
    )
    platform.post(f"/tasks/{busy['id']}/cancel")


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def _board(page: Page, things: Things) -> Iterator[str]:
    page.goto(f"/?project={things.project_id}")
    expect(page.get_by_role("link", name="Nobody knows how", exact=True)).to_be_visible()
    yield "board"
    page.keyboard.press("c")
    window = page.get_by_role("dialog", name="New ticket")
    window.get_by_role("button", name="Create ticket").click()
    expect(window.get_by_label("Title")).to_have_accessible_description(re.compile("Enter a title"))
    yield "new ticket, refused"
    page.keyboard.press("Escape")
    expect(window).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name=re.compile("^Board"))).to_be_visible()
    yield "palette"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    yield "keys"
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("menuitem", name="Sign out")).to_be_visible()
    yield "account menu"


def _tickets(page: Page, things: Things) -> Iterator[str]:
    page.goto(f"/tickets/{things.ticket_id}")
    expect(page.get_by_text("passed", exact=True)).to_be_visible()
    yield "ticket"
    page.goto(f"/tickets/{things.failed_ticket_id}")
    page.get_by_role("button", name="Retry task").click()
    expect(page.get_by_role("dialog", name="Retry task")).to_be_visible()
    yield "try again"
    page.goto(f"/tickets/{things.busy_ticket_id}")
    page.get_by_role("button", name="Cancel ticket").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    yield "cancel"


def _sandbox(page: Page, things: Things) -> Iterator[str]:
    page.goto(f"/sandbox/{things.sandbox_id}")
    feed = page.get_by_role("feed")
    expect(feed.get_by_text("Agent reported completion")).to_be_visible()
    yield "timeline"
    for _ in range(4):
        feed.locator("[data-toggle][aria-expanded=false]").last.click()
    yield "timeline, cards open"
    page.goto(f"/sandbox/{things.sandbox_id}?kinds=error")
    expect(feed.get_by_text("goes wrong").first).to_be_visible()
    yield "timeline, errors"
    page.goto(f"/sandbox/{things.sandbox_id}?view=terminal")
    expect(page.get_by_text("amber", exact=True)).to_be_visible()
    yield "terminal"
    page.goto(f"/sandbox/{things.sandbox_id}?view=details")
    page.get_by_role("tabpanel").get_by_role("button", name="Show log").click()
    expect(page.get_by_role("tabpanel").get_by_text("agent.completed").last).to_be_visible()
    yield "details"
    page.goto(f"/sandbox/{things.sandbox_id}?t=8")
    expect(page.get_by_role("button", name="Go to end")).to_be_visible()
    yield "replay"


def _changes(page: Page, things: Things) -> Iterator[str]:
    page.goto(f"/sandbox/{things.sandbox_id}?view=changes")
    shown = page.get_by_role("tabpanel")
    expect(shown.get_by_role("button", name=re.compile("app.py")).first).to_be_visible()
    yield "changed files"
    shown.get_by_role("button", name=re.compile("app.py")).first.click()
    expect(shown.get_by_text("print(").first).to_be_visible()
    coloured = (
        "() => [...document.querySelectorAll('*')].some((each) => each.shadowRoot?.querySelector('code span[style]'))"
    )
    page.wait_for_function(coloured)
    yield "diff"
    shown.get_by_role("button", name="Split").click()
    expect(shown.get_by_text("print(").first).to_be_visible()
    yield "diff, split"


def _busy(page: Page, things: Things) -> Iterator[str]:
    page.goto(f"/sandbox/{things.busy_id}")
    page.get_by_label("Message to the agent").fill("Go on.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Messages").get_by_text("Go on.").last).to_be_visible()
    yield "composer"
    page.get_by_role("button", name="Stop sandbox", exact=True).click()
    expect(page.get_by_role("dialog", name="Stop this sandbox?")).to_be_visible()
    yield "stop"


def _lists(page: Page, things: Things) -> Iterator[str]:
    for path in ("/sandboxes", "/sandbox/new", f"/sandboxes/compare?a={things.sandbox_id}&b={things.busy_id}"):
        page.goto(path)
        expect(heading(page)).to_be_visible()
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        yield path
    page.goto("/activity")
    expect(page.get_by_text("echo busy").first).to_be_visible()
    yield "activity"
    page.goto("/health-overview")
    expect(page.locator(".recharts-surface").first).to_be_visible()
    yield "health"
    page.goto("/no/such/place")
    expect(page.get_by_role("main")).to_be_visible()
    yield "nowhere"


PARTS = [_board, _tickets, _sandbox, _changes, _busy, _lists]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__[1:])
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_in_either_theme(
    platform: Platform,
    open_context: Callable[..., BrowserContext],
    things: Things,
    part: Callable[[Page, Things], Iterator[str]],
    width: str,
) -> None:
    page = sign_in(open_context(base_url=platform.url, viewport=WIDTHS[width]), platform).new_page()
    found = {what: wrong for what in part(page, things) if (wrong := violations(page))}
    assert found == {}


def test_axe_finds_violations(page: Page, platform: Platform) -> None:
    """The control: violations are found in both themes and in shadow roots."""
    page.goto("/sandboxes")
    expect(heading(page)).to_be_visible()
    page.evaluate("""() => {
      const box = document.querySelector("main").appendChild(document.createElement("div"));
      const wrong = '<button></button><p style="color: #888; background: #777">pale</p>';
      box.attachShadow({ mode: "open" }).innerHTML = wrong;
    }""")
    found = "\n".join(violations(page))
    for wrong in ("light: button-name", "dark: button-name", "light: color-contrast", "dark: color-contrast"):
        assert wrong in found


def test_axe_finds_nothing_on_the_sign_in_page(platform: Platform, open_context: Callable[..., BrowserContext]) -> None:
    page = open_context(base_url=platform.url).new_page()
    page.goto("/")
    expect(heading(page)).to_be_visible()
    assert violations(page) == []
