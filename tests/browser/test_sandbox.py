"""A sandbox's page: watch, steer and search it, and link to any of its events."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.axe import violations
from tests.browser.conftest import sign_in
from tests.browser.runs import LONG, a_run, badge, finished, row, rows, sandbox_of, write_new_project
from tests.e2e.platform import Json, Platform

#: The Bash tool rejects a plain sleep.
STEERED = """
match: 'steered by a person'
steps:
  - tool: Write
    input: {file_path: plan.txt, content: "wait and see\\n"}
  - tool: Bash
    input: {command: 'python3 -c "import time; time.sleep(12)"'}
  - text: 'I received: {{message}}'
on_message:
  - match: 'zebra'
    steps:
      - tool: Write
        input: {file_path: zebra.txt, content: "stripes\\n"}
"""

FAILING = """
match: 'a failing tool'
steps:
  - tool: Edit
    input: {file_path: missing.txt, old_string: a, new_string: b}
  - tool: Write
    input: {file_path: there.txt, content: "1"}
  - text: done
"""
INTERRUPTED = """
match: 'interrupted by a person'
steps:
  - tool: Bash
    input: {command: 'python3 -c "import time; time.sleep(500)"', timeout: 600000}
  - text: 'I received: {{message}}'
"""

MANY = """
match: 'thousands of events'
steps:
  - text: "This is how it started."
    tool: Bash
    input: {command: 'mkdir a; for n in $(seq 500); do echo $n > a/$n; done'}
  - tool: Bash
    input: {command: 'mkdir b; for n in $(seq 500); do echo $n > b/$n; done'}
  - tool: Bash
    input: {command: 'mkdir c; for n in $(seq 500); do echo $n > c/$n; done'}
  - text: 'This is how it ended.'
"""

#: Runs while the tests look at it.
SLOW = LONG.replace("repeat: 12", "repeat: 12\n    delay_s: 0.5")

#: Records every text of the badge.
RECORDER = """
const said = (window.said = []);
new MutationObserver(() => {
  const label = document.querySelector('button[aria-label^="Status: "]')?.textContent;
  if (label && said.at(-1) !== label) said.push(label);
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


@pytest.fixture(scope="module")
def run(platform: Platform) -> Json:
    """The task of a long session, which runs during the first tests."""
    return a_run(platform, "Look at a long run", SLOW)


@pytest.fixture(scope="module")
def many(platform: Platform) -> Json:
    """The task of a finished session with thousands of events."""
    task = a_run(platform, "A run with thousands of events", MANY)
    platform.until(task["id"], "completed")
    return task


def beginning(platform: Platform, many: Json) -> Json:
    """Return the first reply in that session."""
    events = platform.events(sandbox_of(platform, many))
    return next(event for event in events if "how it started" in str(event["event_data"]))


def test_a_failed_tool_shows_its_message_and_a_session_its_facts(page: Page, platform: Platform) -> None:
    page.goto(f"/sandbox/{finished(platform, 'A run with a failing tool', FAILING)}")
    edit = row(page, "missing.txt")
    expect(edit).to_contain_text("File does not exist.")
    expect(edit).not_to_contain_text("tool_use_error")
    session = row(page, "Session started")
    expect(session).to_contain_text(re.compile(r"scripted · \d+ tools · /workspace"))
    session.get_by_role("button", expanded=False).click()
    expect(session.get_by_text("Permission mode")).to_be_visible()


def test_a_ticket_is_created_watched_steered_and_verified(page: Page, platform: Platform) -> None:
    platform.script("steered", STEERED)
    platform.project(f"existing-{uuid4().hex[:6]}")
    title = f"A run steered by a person {uuid4().hex[:6]}"
    page.add_init_script(RECORDER)
    page.goto("/")
    page.get_by_role("button", name="New ticket").click()
    window = page.get_by_role("dialog", name="New ticket")
    window.get_by_label("Title").fill(title)
    write_new_project(window, f"browser/{uuid4().hex[:8]}")
    window.get_by_label("Acceptance commands").fill("grep stripes zebra.txt")
    window.get_by_role("button", name="Create ticket").click()
    page.get_by_role("link", name=title, exact=True).click()
    page.get_by_role("link", name="Watch the agent").click()

    expect(row(page, "plan.txt")).to_be_visible(timeout=90_000)
    expect(badge(page)).to_have_text("Running Bash")
    page.get_by_label("Message to the agent").fill("Remember the zebra")
    page.keyboard.press("Control+Enter")

    receipt = page.get_by_label("Messages to the agent").get_by_role("listitem").filter(has_text="Remember the zebra")
    expect(receipt).to_contain_text(re.compile(r"queued \d"))
    expect(receipt).to_contain_text("delivered …")
    platform.event(page.url.rpartition("/")[2].partition("?")[0], "agent.message_injected")
    expect(receipt).to_contain_text(re.compile(r"delivered \d"))
    expect(receipt).to_contain_text(re.compile(r"seen \d"))
    expect(row(page, "sent a message to the agent")).to_contain_text("Remember the zebra")
    # By keyboard: rows move under the pointer while others arrive.
    row(page, "zebra.txt").get_by_role("link", name="zebra.txt").press("Enter")
    expect(page.get_by_label("Diff").get_by_text("stripes")).to_be_visible()

    expect(badge(page)).to_have_text("Verified")
    said = page.evaluate("window.said")
    assert [word for word in said if word.startswith(("Running Bash", "Verified"))][-2:] == ["Running Bash", "Verified"]
    assert not {"Unchecked", "Failed", "Ended without a result", "Connection lost"} & set(said), said
    expect(row(page, "Verified: all checks passed")).to_be_visible()
    page.get_by_role("heading", level=1).get_by_role("link", name=title).click()
    expect(page.get_by_role("status").get_by_text("Done, verified", exact=True)).to_be_visible()
    expect(page.get_by_text("passed", exact=True)).to_be_visible()
    expect(page.get_by_text("I received: Remember the zebra")).to_be_visible()
    task = platform.get("/tickets", q=title)["items"][0]["tasks"][0]
    assert platform.git(task["project_id"], "show", f"{task['branch_name']}:zebra.txt") == "stripes"


def test_an_interrupt_stops_the_turn_at_once_and_a_stop_the_sandbox(page: Page, platform: Platform) -> None:
    task = a_run(platform, "A run interrupted by a person", INTERRUPTED)
    page.goto(f"/sandbox/{sandbox_of(platform, task)}")
    expect(badge(page)).to_have_text("Running Bash")
    page.get_by_label("Message to the agent").fill("Enough of that")
    page.reload()
    expect(page.get_by_label("Message to the agent")).to_have_value("Enough of that")

    page.get_by_role("button", name="Interrupt").click()

    expect(rows(page).filter(has_text=re.compile("Interrupted")).first).to_be_visible()
    expect(row(page, "I received: Enough of that")).to_be_visible()
    expect(page.get_by_label("Message to the agent")).to_have_count(0)
    expect(page.get_by_text("no longer accepts messages")).to_be_visible()


def test_a_sandbox_is_stopped_when_that_is_confirmed_and_a_wrong_clock_does_not_matter(
    page: Page, platform: Platform
) -> None:
    page.add_init_script("const now = Date.now; Date.now = () => now() + 3_600_000;")
    task = a_run(platform, "Another run interrupted by a person", INTERRUPTED)
    page.goto(f"/sandbox/{sandbox_of(platform, task)}")
    page.get_by_role("button", name="Stop sandbox", exact=True).click()
    page.get_by_role("button", name="Keep running").click()
    expect(badge(page)).to_have_text(re.compile("^Running"))
    expect(page.get_by_text(re.compile(r"last event (just now|\d+s ago)"))).to_be_visible()
    page.get_by_role("button", name="Stop sandbox", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop sandbox").click()

    expect(badge(page)).to_have_text("Ended without a result")
    badge(page).hover()
    expect(page.get_by_role("tooltip")).to_contain_text("The sandbox ended before there was a result")
    expect(page.get_by_role("button", name="Retry task")).to_be_visible()
    expect(page.get_by_role("main")).to_be_focused()


def test_the_end_is_followed_until_the_reader_scrolls_up(page: Page, platform: Platform, run: Json) -> None:
    page.set_viewport_size({"width": 1280, "height": 520})
    page.goto(f"/sandbox/{sandbox_of(platform, run)}")
    expect(row(page, "exit 3")).to_be_visible()
    box = page.get_by_role("feed", name="Events").locator("..")
    box.hover()
    page.mouse.wheel(0, -5_000)
    jump = page.get_by_role("button", name="Jump to latest")
    expect(jump).to_be_visible()
    before = box.evaluate("box => box.scrollTop")

    expect(jump).to_have_text(re.compile(r"\(\d+ new\)"))
    assert box.evaluate("box => box.scrollTop") == before
    jump.click()
    expect(jump).to_have_count(0)
    expect(row(page, "Agent reported completion")).to_be_visible()
    assert box.evaluate("box => box.scrollHeight - box.scrollTop - box.clientHeight") <= 64


def test_errors_are_visited_one_by_one(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    page.goto(f"/sandbox/{sandbox_of(platform, run)}")
    expect(page.get_by_role("button", name="Errors 2")).to_be_visible()
    page.get_by_role("button", name="Next error").click()
    expect(page.get_by_role("article").and_(page.locator(":focus"))).to_contain_text("exit 3")
    page.keyboard.press("e")
    expect(page.get_by_role("article").and_(page.locator(":focus"))).to_contain_text("exit 4")
    page.get_by_role("button", name="Previous error").click()
    expect(page.get_by_role("article").and_(page.locator(":focus"))).to_contain_text("exit 3")


def test_filters_and_search_are_kept_in_the_address(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    page.goto(f"/sandbox/{sandbox_of(platform, run)}")
    expect(row(page, "Ran 12 commands")).to_be_visible()

    page.get_by_role("button", name="Edits 1").click()
    expect(rows(page)).to_have_count(1)
    expect(row(page, "notes.txt")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Replies 2")).click()
    expect(rows(page)).to_have_count(3)
    page.wait_for_url(re.compile("kinds=text"))
    page.reload()
    expect(rows(page)).to_have_count(3)
    page.get_by_role("button", name="Show all").click()

    page.keyboard.press("/")
    page.keyboard.type("line 39")
    expect(page.get_by_text("12 found")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts").get_by_text("Next error")).to_be_visible()
    expect(page.get_by_role("dialog", name="Keyboard shortcuts").get_by_text("Previous event")).to_be_visible()


def test_a_link_leads_to_an_event_and_highlights_it(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    sandbox_id = sandbox_of(platform, run)
    broken = next(event for event in platform.events(sandbox_id) if "echo broken" in str(event["event_data"]))
    page.goto(f"/sandbox/{sandbox_id}?ev={broken['seq']}")
    expect(row(page, "echo broken")).to_be_in_viewport()
    expect(row(page, "echo broken").locator(f'[data-seq="{broken["seq"]}"]')).to_have_class(
        re.compile("bg-accent-soft")
    )
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()


def test_a_link_to_a_missing_event_opens_at_the_end_and_says_so(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    page.set_viewport_size({"width": 1280, "height": 520})
    page.goto(f"/sandbox/{sandbox_of(platform, run)}?ev=99999")
    expect(page.get_by_role("status").get_by_text("This sandbox has no event 99999")).to_be_visible()
    expect(row(page, "Unchecked: no check verified")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)


def test_a_link_into_a_very_long_session_loads_that_part_first(page: Page, platform: Platform, many: Json) -> None:
    sandbox_id, began = sandbox_of(platform, many), beginning(platform, many)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/events?" in request.url else None)
    page.goto(f"/sandbox/{sandbox_id}?ev={began['seq']}")

    expect(row(page, "This is how it started.")).to_be_in_viewport()
    expect(badge(page)).to_have_text("Unchecked")
    assert sum("beyond" in address for address in asked[:2]) == 1


def test_the_latest_is_reached_at_once_from_an_event_far_back(page: Page, platform: Platform, many: Json) -> None:
    sandbox_id, began = sandbox_of(platform, many), beginning(platform, many)
    # The events in between are held back.
    held: list[Route] = []
    page.route("**/events?*order=asc*", lambda route: held.append(route))
    page.goto(f"/sandbox/{sandbox_id}?ev={began['seq']}")
    expect(row(page, "This is how it started.")).to_be_in_viewport()

    page.get_by_role("button", name="Jump to latest").click()
    expect(row(page, "Unchecked: no check verified")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Jump to latest")).to_have_count(0)
    assert len(held) == 1

    held[0].continue_()
    page.get_by_role("tab", name="Terminal").click()
    expect(page.get_by_text("3 commands")).to_be_visible()
    page.get_by_role("feed", name="Events").hover()
    page.mouse.wheel(0, -100_000)
    expect(row(page, "This is how it started.")).to_be_in_viewport()


def test_a_tap_on_the_status_shows_the_reason(
    open_context: Callable[..., BrowserContext], platform: Platform, run: Json
) -> None:
    platform.until(run["id"], "completed")
    touched = open_context(base_url=platform.url, has_touch=True, viewport={"width": 390, "height": 844})
    page = sign_in(touched, platform).new_page()
    page.goto(f"/sandbox/{sandbox_of(platform, run)}")
    expect(badge(page)).to_have_text("Unchecked")
    badge(page).tap()
    expect(page.get_by_role("tooltip")).to_contain_text("no check has verified it")
    rows(page).last.tap()
    expect(page.get_by_role("tooltip")).to_have_count(0)


def test_loading_a_very_long_session_continues_where_it_failed(page: Page, platform: Platform, many: Json) -> None:
    page.route("**/events?*order=desc&beyond=*", lambda route: route.abort(), times=1)
    page.goto(f"/sandbox/{sandbox_of(platform, many)}")
    expect(row(page, "Unchecked: no check verified")).to_be_in_viewport()
    page.get_by_role("tab", name="Terminal").click()
    expect(page.get_by_text("3 commands")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_finished_sandbox_offers_to_create_another_ticket(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    page.goto(f"/sandbox/{sandbox_of(platform, run)}")
    expect(
        page.get_by_text("This sandbox has ended and no longer accepts messages. The task is completed.")
    ).to_be_visible()
    page.get_by_role("button", name="create another ticket").click()
    expect(page.get_by_role("dialog", name="New ticket")).to_be_visible()


def test_a_verification_is_labelled_as_such(page: Page, platform: Platform) -> None:
    task = a_run(platform, "Check a long run", LONG, acceptance=["grep two notes.txt"])
    platform.until(task["id"], "completed")
    sandboxes = platform.get("/sandboxes", task_id=task["id"])["items"]
    checks = next(sandbox for sandbox in sandboxes if sandbox["purpose"] == "verify")
    page.goto(f"/sandbox/{checks['id']}")
    expect(row(page, "Sandbox ended")).to_be_visible()
    expect(badge(page)).to_have_text("Verified")
    badge(page).click()
    expect(page.get_by_role("tooltip")).to_contain_text("The checks passed in a fresh sandbox")


def test_the_search_of_the_terminal_is_in_the_address(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    page.goto(f"/sandbox/{sandbox_of(platform, run)}?view=terminal&find=broken")
    expect(page.get_by_text("1 matching")).to_be_visible()
    page.get_by_role("searchbox", name="Search commands and their output").fill("line 40")
    expect(page.get_by_text("12 matching")).to_be_visible()
    page.reload()
    expect(page.get_by_text("12 matching")).to_be_visible()


def test_everyone_can_use_a_sandbox_page(page: Page, platform: Platform, run: Json) -> None:
    platform.until(run["id"], "completed")
    page.goto(f"/sandbox/{sandbox_of(platform, run)}?view=terminal")
    expect(page.get_by_role("log", name="Commands and their output").get_by_text("exit 4").first).to_be_visible()
    expect(page).to_have_title("Look at a long run · OmoiOS")
    assert violations(page, "light") == []
    page.get_by_role("tab", name="Details").click()
    expect(page.get_by_role("heading", name="Attempts")).to_be_visible()
    expect(page.get_by_role("link", name="Download transcript")).to_be_visible()
    page.get_by_role("button", name="Show log").click()
    expect(page.get_by_role("log", name="Log")).to_contain_text("agent.completed")
    assert violations(page, "light") == []
