"""Relative or absolute times, local or UTC: one choice for all pages, stored in the browser."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import sign_in
from tests.browser.runs import LONG, a_run, finished, row, sandbox_of
from tests.e2e.platform import Platform

RELATIVE = re.compile(r"^(just now|\d+[smhd] ago)$")
EXACT = re.compile(r"^[A-Z][a-z]{2} \d+, \d\d:\d\d:\d\d$")
EXACT_UTC = re.compile(r"^[A-Z][a-z]{2} \d+, \d\d:\d\d:\d\d UTC$")


def choose(page: Page, name: str) -> None:
    page.get_by_role("button", name="Account: ").click()
    page.get_by_role("menuitemcheckbox", name=name).click()
    expect(page.get_by_role("menuitemcheckbox")).to_have_count(0)


def test_times_are_exact_and_in_utc_on_every_page_once_that_is_chosen(
    open_context: Callable[..., BrowserContext], platform: Platform
) -> None:
    context = sign_in(open_context(base_url=platform.url, timezone_id="Asia/Tokyo", locale="en-US"), platform)
    page, other = context.new_page(), context.new_page()
    sandbox_id = finished(platform, "a long run", LONG)
    page.goto(f"/sandbox/{sandbox_id}")
    time = row(page, "Agent reported completion").locator("time")
    expect(time).to_have_text(RELATIVE)
    other.goto("/sandboxes")
    listed = other.get_by_role("row").filter(has_text=sandbox_id).locator("td > time").first
    expect(listed).to_have_text(RELATIVE)

    choose(page, "Show absolute times")
    expect(time).to_have_text(EXACT)
    here = time.inner_text()
    choose(page, "Show times in UTC")
    expect(time).to_have_text(EXACT_UTC)
    assert time.inner_text().removesuffix(" UTC") != here
    expect(listed).to_have_text(EXACT_UTC)

    page.reload()
    expect(time).to_have_text(EXACT_UTC)
    assert violations(page) == []
    page.get_by_role("button", name="Account: ").click()
    expect(page.get_by_role("menuitemcheckbox", name="Show times in UTC")).to_be_checked()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(time).to_have_text(EXACT_UTC)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_click_on_a_time_toggles_all_times_except_in_links_and_buttons(page: Page, platform: Platform) -> None:
    task = a_run(platform, "a long run", LONG)
    platform.until(task["id"], "completed")
    page.goto(f"/sandbox/{sandbox_of(platform, task)}")
    time = row(page, "Agent reported completion").locator("time")
    time.click()
    expect(time).to_have_text(EXACT)
    time.click()
    expect(time).to_have_text(RELATIVE)

    run = page.get_by_role("button", name="Ran 12 commands")
    run.locator("time").click()
    expect(run).to_have_attribute("aria-expanded", "true")
    expect(run.locator("time")).to_have_text(RELATIVE)

    page.goto(f"/?project={task['project_id']}")
    card = page.get_by_role("link", name="a long run", exact=True)
    inside = page.get_by_role("listitem").filter(has=card).locator("time")
    expect(inside).to_have_text(RELATIVE)
    box = inside.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("heading", name="a long run", level=1)).to_be_visible()
    expect(page.locator("time").first).to_have_text(RELATIVE)
