"""Sandboxes: create one with a prompt, find, stop and compare them."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.runs import badge, finished, row
from tests.e2e.platform import Platform

TALKS = """
match: 'talks to a person'
steps:
  - text: 'What shall I do? {{message}}'
"""

ONE = """
match: 'compared, the first'
steps:
  - tool: Bash
    input: {command: 'echo same'}
  - tool: Write
    input: {file_path: one.txt, content: "1\\n"}
  - text: done
"""
OTHER = ONE.replace("the first", "the second").replace("one.txt", "two.txt")


def test_a_prompt_starts_a_sandbox_that_waits_for_messages(page: Page, platform: Platform) -> None:
    platform.script("talks", TALKS)
    page.goto("/sandboxes")
    page.get_by_role("link", name="New sandbox").click()
    expect(page).to_have_title("New sandbox · OmoiOS")
    page.get_by_label("Project", exact=True).select_option("New project…")
    page.get_by_label("New project").fill(f"prompted-{uuid4().hex[:6]}")
    page.get_by_label("Prompt").fill("An agent that talks to a person")
    page.get_by_label("Budget (USD)").fill("-1")
    expect(page.get_by_role("button", name="Start sandbox")).to_be_disabled()
    page.get_by_label("Budget (USD)").fill("2.5")
    assert violations(page, "light") == []
    page.get_by_role("button", name="Start sandbox").click()

    page.wait_for_url(re.compile("/sandbox/omoios-"))
    expect(badge(page)).to_have_text("Waiting")
    page.get_by_label("Message to the agent").fill("Say it again")
    page.get_by_role("button", name="Send").click()
    expect(row(page, "What shall I do? Say it again")).to_be_visible()

    sandbox_id = page.url.rpartition("/")[2].partition("?")[0]
    page.get_by_role("link", name="Sandboxes", exact=True).click()
    page.get_by_role("searchbox", name="Search by ID or title").fill(sandbox_id)
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("button", name=re.compile("^Running 1"))).to_be_visible()
    page.get_by_role("button", name=f"Stop sandbox {sandbox_id}").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop sandbox").click()
    expect(page.get_by_role("row").last).to_contain_text("Unchecked")
    expect(page.get_by_role("button", name=f"Stop sandbox {sandbox_id}")).to_have_count(0)
    assert violations(page, "light") == []


def test_two_sandboxes_are_compared_step_by_step(page: Page, platform: Platform) -> None:
    one, other = (
        finished(platform, "Runs compared, the first", ONE),
        finished(platform, "Runs compared, the second", OTHER),
    )
    page.goto("/sandboxes?q=compared")
    page.get_by_label(f"Select {one} to compare").check()
    page.get_by_label(f"Select {other} to compare").check()
    page.get_by_role("link", name="Compare sandboxes").click()

    steps = page.get_by_role("region", name="Steps").get_by_role("listitem")
    expect(
        page.get_by_role("table", name="Files changed").get_by_role("row", name=re.compile("one.txt"))
    ).to_contain_text("+1")
    expect(steps.filter(has_text="one.txt").first).to_contain_text("two.txt")
    page.get_by_label("Only differences").check()
    expect(steps.filter(has_text="echo same")).to_have_count(0)
    assert violations(page, "light") == []
    steps.get_by_role("link", name=re.compile("one.txt")).first.click()
    expect(row(page, "one.txt")).to_be_in_viewport()


def test_a_missing_sandbox_is_reported(page: Page, platform: Platform) -> None:
    page.goto("/sandbox/omoios-00000000-000000")
    expect(page.get_by_role("alert")).to_contain_text("The sandbox was not found")
    page.goto("/sandboxes?q=nothing-is-called-this")
    expect(page.get_by_text("No sandboxes match")).to_be_visible()
