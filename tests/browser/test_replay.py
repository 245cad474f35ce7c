"""Replay: any moment of a session, in every view, kept in the address."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.runs import LONG, finished, row
from tests.e2e.platform import Platform


@pytest.fixture(scope="module")
def sandbox_id(platform: Platform) -> str:
    return finished(platform, "Replay a long run", LONG)


def test_a_session_is_replayed_in_every_view(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}")
    expect(row(page, "Agent reported completion")).to_be_visible()
    expect(page.get_by_role("list", name="Markers")).to_contain_text("errors")

    page.get_by_role("slider", name="Replay position").press("Home")
    expect(row(page, "Sandbox requested")).to_be_visible()
    expect(row(page, "Agent reported completion")).to_have_count(0)
    expect(page.get_by_text("No files changed up to this point")).to_be_visible()
    page.get_by_role("tab", name="Terminal").click()
    expect(page.get_by_text("0 commands")).to_be_visible()

    page.get_by_role("button", name="Play").click()
    page.get_by_label("Speed").select_option("16")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(row(page, "Agent reported completion")).to_be_visible()
    page.get_by_role("button", name="Go to end").click()
    expect(page.get_by_role("button", name="Go to end")).to_have_count(0)


def test_a_group_counts_the_commands_up_to_the_replay_position(page: Page, platform: Platform, sandbox_id: str) -> None:
    first = next(event for event in platform.events(sandbox_id) if "seq 1 40" in str(event["event_data"]))
    page.goto(f"/sandbox/{sandbox_id}?t={first['seq']}")
    expect(row(page, "Ran 1 command").get_by_text("Ran 1 command", exact=True)).to_be_visible()


def test_the_position_is_in_the_address_and_changed_by_keys(page: Page, sandbox_id: str) -> None:
    page.goto(f"/sandbox/{sandbox_id}?t=8")
    slider = page.get_by_role("slider", name="Replay position")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^event 8,"))
    page.keyboard.press(".")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^event 9,"))
    page.wait_for_url(re.compile("t=9"))
    page.reload()
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^event 9,"))
    page.keyboard.press(",")
    page.keyboard.press(",")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^event 7,"))
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("t="))
    expect(row(page, "Agent reported completion")).to_be_visible()
