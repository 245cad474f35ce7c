"""Each outcome has the same label and colour on every page; green is for verified work only."""

import re
from dataclasses import dataclass
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.runs import badge
from tests.e2e.platform import ENDED, Json, Platform, wait_for

#: Each outcome's label and tone.
LOOKS = {
    "verified": ("Verified", "good"),
    "unchecked": ("Unchecked", "neutral"),
    "failed": ("Failed", "bad"),
    "no_result": ("Ended without a result", "warn"),
}

WRITES = """
match: '{word} (verified|unchecked|failed)'
steps:
  - tool: Write
    input: {{file_path: made.txt, content: "made\\n"}}
  - text: 'It is done.'
"""
SLEEPS = """
match: '{word} no_result'
steps:
  - tool: Bash
    input: {{command: sleep 600}}
  - text: done
"""


@dataclass(frozen=True)
class Runs:
    """One ended task for each outcome, all in one project."""

    word: str
    project_id: str
    tasks: dict[str, Json]
    sandboxes: dict[str, str]


def at_its_end(platform: Platform, task_id: str) -> Json:
    """The task once it has ended; a failing one takes three attempts of several iterations each."""

    def look() -> Json | None:
        task = platform.task(task_id)
        return task if task["status"] in ENDED else None

    return wait_for(f"task {task_id} to end", look, patience=600)


@pytest.fixture(scope="module")
def runs(platform: Platform) -> Runs:
    word = f"outcome{uuid4().hex[:6]}"
    platform.script(f"{word}-a", WRITES.format(word=word))
    platform.script(f"{word}-b", SLEEPS.format(word=word))
    project_id = platform.project(word)
    checks = {"verified": ["test -f made.txt"], "failed": ["test -f never.txt"]}
    tasks = {
        outcome: platform.ticket(f"{word} {outcome}", project_id=project_id, acceptance=checks.get(outcome, []))
        for outcome in LOOKS
    }
    platform.until(tasks["no_result"]["id"], "running")
    platform.post(f"/tasks/{tasks['no_result']['id']}/cancel")
    ended = {outcome: at_its_end(platform, task["id"]) for outcome, task in tasks.items()}
    sandboxes = {outcome: str(platform.sandboxes(task["id"])[0]["id"]) for outcome, task in tasks.items()}
    for sandbox_id in sandboxes.values():
        platform.event(sandbox_id, "sandbox.terminated")
    assert {outcome: task["outcome"] for outcome, task in ended.items()} == {each: each for each in LOOKS}
    return Runs(word, project_id, ended, sandboxes)


def tones(place: Locator) -> set[str]:
    """Return the colours of all dots and badges in an element."""
    return set(place.locator("[data-tone]").evaluate_all("all => all.map((one) => one.dataset.tone)"))


def shows(place: Locator, outcome: str) -> None:
    """Expect the outcome's label and colour, and green only for verified work."""
    words, tone = LOOKS[outcome]
    expect(place).to_contain_text(words)
    assert tone in tones(place)
    assert ("good" in tones(place)) == (outcome == "verified")


def test_the_board_and_the_palette(page: Page, runs: Runs) -> None:
    page.goto(f"/?project={runs.project_id}")
    for outcome in ("verified", "unchecked", "failed"):
        card = page.get_by_role("listitem").filter(
            has=page.get_by_role("link", name=f"{runs.word} {outcome}", exact=True)
        )
        shows(card, outcome)
        expect(card).to_contain_text("simulated")
    assert violations(page, "light") == []
    page.keyboard.press("Control+k")
    page.get_by_placeholder(re.compile("^Search pages")).fill(runs.word)
    for outcome, words in {"verified": "Done, verified", "unchecked": "Done, unchecked", "failed": "Failed"}.items():
        option = page.get_by_role("option").filter(has_text=f"{runs.word} {outcome}").filter(has_text=words).first
        expect(option).to_be_visible()
        assert tones(option) == {LOOKS[outcome][1]}


@pytest.mark.parametrize("outcome", LOOKS)
def test_the_ticket_and_every_attempt(page: Page, runs: Runs, outcome: str) -> None:
    page.goto(f"/tickets/{runs.tasks[outcome]['ticket_id']}")
    attempt = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Attempt 1", exact=True))
    shows(attempt, outcome)
    assert tones(page.get_by_role("article").get_by_role("status").first) == {LOOKS[outcome][1]}
    if outcome != "no_result":
        expect(page.get_by_label("Ticket details")).to_contain_text("simulated")
    if outcome == "failed":
        shows(page.get_by_role("listitem").filter(has_text="Verification of attempt 1"), "failed")
        shows(page.get_by_role("listitem").filter(has=page.get_by_role("link", name="Attempt 3", exact=True)), "failed")
    if outcome == "unchecked":
        expect(page.get_by_text("Unchecked: ")).to_be_visible()
        expect(page.get_by_role("button", name="Add check")).to_be_visible()
    assert violations(page, "light") == []


def test_the_list_of_sandboxes(page: Page, runs: Runs) -> None:
    page.goto(f"/sandboxes?q={runs.word}")
    for outcome, sandbox_id in runs.sandboxes.items():
        shows(page.get_by_role("row").filter(has_text=sandbox_id), outcome)
    assert tones(page.get_by_role("group", name="Filter by status")) == set()


@pytest.mark.parametrize("outcome", LOOKS)
def test_the_page_of_a_sandbox(page: Page, runs: Runs, outcome: str) -> None:
    page.goto(f"/sandbox/{runs.sandboxes[outcome]}?view=details")
    expect(badge(page)).to_have_text(LOOKS[outcome][0])
    assert tones(badge(page)) == {LOOKS[outcome][1]}
    header = page.locator("header").filter(has=badge(page))
    if outcome != "no_result":
        expect(header).to_contain_text("simulated")
    expect(header).to_contain_text("scripted")
    this = page.get_by_role("listitem").filter(has_text="this sandbox")
    shows(this, outcome)


def test_a_comparison(page: Page, runs: Runs) -> None:
    page.goto(f"/sandboxes/compare?a={runs.sandboxes['verified']}&b={runs.sandboxes['failed']}")
    cells = (
        page.get_by_role("table", name="Outcome").get_by_role("row", name=re.compile("^Outcome")).get_by_role("cell")
    )
    shows(cells.nth(0), "verified")
    shows(cells.nth(1), "failed")
    page.goto(f"/sandboxes/compare?a={runs.sandboxes['unchecked']}&b={runs.sandboxes['no_result']}")
    shows(cells.nth(0), "unchecked")
    shows(cells.nth(1), "no_result")


def test_the_activity_feed(page: Page, runs: Runs) -> None:
    # Only visible rows are rendered.
    page.set_viewport_size({"width": 1280, "height": 6000})
    page.goto(f"/activity?project={runs.project_id}&kinds=lifecycle,errors")
    feed = page.get_by_role("article")
    # The feed starts with the newest sandboxes: those of the task with the most attempts.
    entry = feed.filter(has_text="Result: failed").first
    expect(entry).to_be_visible()
    assert tones(entry) == {"bad"}
    assert "good" not in tones(feed.filter(has_not_text="Result: verified"))


def test_the_health_page(page: Page, runs: Runs) -> None:
    page.goto("/health-overview")
    counted = r"Tasks per day · [1-9]\d* verified, [1-9]\d* unchecked, [1-9]\d* failed, [1-9]\d* ended without a result"
    expect(page.get_by_text(re.compile(counted))).to_be_visible()
    expect(page.get_by_text(re.compile(r"Cost per day · \S+ simulated"))).to_be_visible()
