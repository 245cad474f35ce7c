"""The files that an agent changed: by turn and for the whole session, of any type and size."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.runs import CHANGED, TWICE, finished
from tests.e2e.platform import Platform


@pytest.fixture(scope="module")
def sandbox_id(platform: Platform) -> str:
    return finished(platform, "A run with many changes", CHANGED)


def files(page: Page) -> Locator:
    return page.get_by_role("region", name="Changed files")


def diff(page: Page) -> Locator:
    return page.get_by_role("region", name="Diff")


def test_the_counts_of_the_whole_session_are_those_of_its_diff(page: Page, platform: Platform) -> None:
    sandbox_id = finished(platform, "A run that edits twice", TWICE)
    page.goto(f"/sandbox/{sandbox_id}?view=changes")
    status = files(page).get_by_role("status")
    expect(status).to_contain_text("+5")
    files(page).get_by_role("button", name="Whole session").click()
    expect(status).to_have_text(re.compile(r"^1 file\s*\+3 lines added\s*\u22120 lines removed$"))
    expect(files(page).get_by_role("button", name="numbers.txt")).to_contain_text("2 edits")
    expect(diff(page).get_by_text("+3", exact=True)).to_be_visible()


def test_files_are_listed_by_turn_with_their_changes(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}?view=changes")
    expect(files(page).get_by_text("Turn 3 · 2 changes")).to_be_visible()
    expect(files(page).get_by_role("button", name="old-name.txt → new-name.txt renamed")).to_be_visible()
    expect(files(page).get_by_role("button", name="picture.bin created binary")).to_be_visible()

    page.get_by_role("searchbox", name="Filter by path").fill("picture")
    expect(files(page).get_by_role("button", name="big.txt")).to_have_count(0)
    files(page).get_by_role("button", name="picture.bin").click()
    expect(diff(page).get_by_text("binary file")).to_be_visible()

    page.reload()
    expect(files(page).get_by_role("button", name="picture.bin")).to_be_visible()
    expect(files(page).get_by_role("button", name="big.txt")).to_have_count(0)


def test_the_first_file_is_open_beside_the_list_where_there_is_room(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}")
    expect(files(page).get_by_role("button", name="old-name.txt created")).to_have_attribute("aria-current", "true")
    expect(diff(page).locator("code").get_by_text("1", exact=True).last).to_be_in_viewport()
    expect(diff(page).get_by_role("heading", name="old-name.txt")).to_be_in_viewport()
    assert violations(page, "light") == []

    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("tab", name="Changes").click()
    expect(files(page)).to_be_visible()
    expect(diff(page)).to_have_count(0)
    files(page).get_by_role("button", name="small.txt modified").click()
    expect(files(page)).to_be_hidden()
    diff(page).get_by_role("button", name="Files").click()
    expect(files(page).get_by_role("button", name="big.txt")).to_be_visible()


def test_back_leads_from_a_diff_to_the_list_on_narrow_screens(page: Page, sandbox_id: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/sandboxes")
    page.goto(f"/sandbox/{sandbox_id}?view=changes")
    files(page).get_by_role("button", name="small.txt modified").click()
    expect(diff(page).get_by_role("heading", name="small.txt")).to_be_visible()
    page.go_back()
    expect(files(page)).to_be_visible()
    page.go_forward()
    expect(diff(page).get_by_role("heading", name="small.txt")).to_be_visible()
    diff(page).get_by_role("button", name="Files").click()
    files(page).get_by_role("button", name="big.txt").click()
    expect(diff(page).get_by_role("heading", name="big.txt")).to_be_visible()
    page.go_back()
    expect(files(page)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Sandboxes", level=1)).to_be_visible()


def test_a_diff_opened_by_a_link_leads_back_to_the_list(page: Page, platform: Platform, sandbox_id: str) -> None:
    change = next(event for event in platform.events(sandbox_id) if event["event_type"] == "agent.file_edited")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/sandbox/{sandbox_id}?view=changes&ev={change['seq']}")
    diff(page).get_by_role("button", name="Files").click()
    expect(files(page).get_by_role("button", name="big.txt")).to_be_visible()


def test_a_diff_is_shown_unified_and_split(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}?view=changes")
    files(page).get_by_role("button", name="small.txt modified").click()
    expect(diff(page).locator("code")).to_have_count(1)
    diff(page).get_by_role("button", name="Split").click()
    expect(diff(page).locator("code")).to_have_count(2)
    assert violations(page, "light") == []
    page.reload()
    expect(diff(page).locator("code")).to_have_count(2)
    diff(page).get_by_role("button", name="Unified").click()
    expect(diff(page).locator("code")).to_have_count(1)


def test_a_diff_of_twenty_thousand_lines_is_shown_in_full(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}?view=changes")
    files(page).get_by_role("button", name="big.txt").click()
    expect(diff(page).get_by_text("+20000")).to_be_visible()
    box = diff(page).locator("diffs-container").first.locator("xpath=ancestor::*[contains(@class, 'overflow-auto')][1]")
    box.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(diff(page).locator("code").get_by_text("20000", exact=True).last).to_be_in_viewport()


def test_the_whole_session_is_one_diff_and_a_file_in_it_is_opened(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}?view=changes")
    files(page).get_by_role("button", name="Whole session").click()
    expect(files(page).get_by_role("button", name="Whole session", pressed=True)).to_be_visible()
    expect(files(page).get_by_role("button", name="small.txt")).to_contain_text("2 edits")
    files(page).get_by_role("button", name="big.txt").click()
    expect(diff(page).get_by_text("All changes")).to_be_visible()
    expect(diff(page).get_by_role("button", name="Collapse big.txt")).to_be_visible()

    page.reload()
    expect(files(page).get_by_role("button", name="big.txt")).to_have_attribute("aria-current", "true")
    expect(diff(page).get_by_role("button", name="Collapse big.txt")).to_be_visible()
    files(page).get_by_role("button", name="Per turn").click()
    expect(files(page).get_by_text("Turn 3 · 2 changes")).to_be_visible()


def test_back_leads_from_a_file_of_the_whole_session_to_the_list(page: Page, sandbox_id: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/sandbox/{sandbox_id}?view=changes&diff=session&path=big")
    expect(files(page).get_by_role("button", name="small.txt")).to_have_count(0)
    files(page).get_by_role("button", name="big.txt").click()
    expect(diff(page).get_by_role("button", name="Collapse big.txt")).to_be_visible()
    page.go_back()
    expect(files(page).get_by_role("button", name="big.txt")).to_be_visible()
    page.go_forward()
    diff(page).get_by_role("button", name="Files").click()
    expect(files(page).get_by_role("button", name="big.txt")).to_be_visible()
