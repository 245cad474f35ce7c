"""The activity feed and the health page."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.runs import a_run
from tests.e2e.platform import Platform

ONCE = """
match: 'seen once'
steps:
  - tool: Write
    input: {file_path: numbers.txt, content: "1\\n"}
  - text: 'It is done: **the numbers are there**.'
"""

SEEN = """
match: 'seen by everyone'
steps:
  - tool: Write
    input: {file_path: seen.txt, content: "1\\n"}
  - tool: Bash
    input: {command: 'exit 7'}
  - text: done
"""


def test_activity_appears_live_and_links_to_its_source(page: Page, platform: Platform) -> None:
    first = a_run(platform, "A run seen by everyone", SEEN)
    platform.until(first["id"], "completed")
    page.goto(f"/activity?project={first['project_id']}")
    feed = page.get_by_role("log", name="Activity, newest last")
    expect(feed.get_by_text("Result: unchecked")).to_be_visible()

    platform.ticket("Another run seen by everyone", project_id=first["project_id"])
    expect(feed.get_by_role("article").filter(has_text="Agent started").last).to_contain_text("Another run seen")
    expect(feed.get_by_role("article").filter(has_text="Ticket done")).to_contain_text("Another run seen")
    assert violations(page, "light") == []

    page.get_by_role("button", name="edits").click()
    expect(feed.get_by_role("article")).to_have_count(2)
    page.wait_for_url(re.compile("kinds=edits"))
    page.get_by_role("button", name="errors").click()
    expect(feed.get_by_text("Bash failed").first).to_be_visible()
    # By keyboard: rows move under the pointer while others arrive.
    feed.get_by_role("link", name="seen.txt").last.press("Enter")
    expect(page.get_by_role("region", name="Diff")).to_be_visible()
    expect(page).not_to_have_url(re.compile("kinds="))
    expect(page).to_have_title(re.compile("run seen by everyone · OmoiOS"))


def test_each_fact_is_listed_once_and_markdown_is_formatted(page: Page, platform: Platform) -> None:
    task = a_run(platform, "A run seen once", ONCE)
    platform.until(task["id"], "completed")
    failed = platform.ticket("Nobody knows how", project_id=task["project_id"])
    error = platform.until(failed["id"], "failed")["error"]
    page.set_viewport_size({"width": 1280, "height": 3000})
    page.goto(f"/activity?project={task['project_id']}")
    feed = page.get_by_role("log", name="Activity, newest last")
    reply = feed.get_by_role("article").filter(has_text="the numbers are there")
    expect(reply).to_have_count(1)
    expect(reply.locator("strong")).to_have_text("the numbers are there")
    expect(feed.get_by_role("article").filter(has_text="Agent completed")).to_have_count(1)
    expect(feed.get_by_role("article").filter(has_text=error)).to_have_count(1)
    expect(feed.get_by_role("article").filter(has_text="Agent failed")).to_contain_text(error)
    expect(feed.get_by_role("link", name="numbers.txt")).to_have_count(1)
    expect(feed.get_by_text("Write", exact=True)).to_have_count(0)


def test_a_session_that_ended_in_another_tab_leads_to_the_sign_in_page(page: Page) -> None:
    page.goto("/activity")
    expect(page.get_by_role("heading", name="Activity")).to_be_visible()
    assert page.evaluate("fetch('/api/v1/auth/session', { method: 'DELETE' }).then((answer) => answer.ok)")
    expect(page.get_by_role("heading", name="Sign in to OmoiOS")).to_be_visible()


def test_the_health_page_counts_tasks(page: Page, platform: Platform) -> None:
    task = a_run(platform, f"A run seen by everyone {uuid4().hex[:4]}", SEEN)
    platform.until(task["id"], "completed")
    page.goto("/health-overview")
    expect(page.get_by_role("heading", name="Open tasks")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Tasks per day · \d+ verified, [1-9]\d* unchecked"))).to_be_visible()
    expect(page.get_by_text("PostgreSQL")).to_be_visible()
    expect(page.locator("svg.recharts-surface").first).to_be_visible()
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("table", name="Throughput and cost per day").get_by_role("row")).to_have_count(15)
    assert violations(page, "light") == []
    page.get_by_role("link", name=re.compile(r"^Show \d+ stopped sandboxes")).click()
    page.wait_for_url("**/sandboxes?status=stopped")
    expect(page.get_by_role("row").nth(1).get_by_title("Sandbox stopped").first).to_be_attached()
