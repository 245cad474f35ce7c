"""Messages to an agent are not lost and not sent twice."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import sign_in
from tests.browser.outages import without_api
from tests.browser.ticking import ticking
from tests.e2e.platform import Json, Platform

WORDS = "look at the second file first"
MESSAGES = re.compile(r"/api/v1/sandboxes/[^/]+/messages$")


@pytest.fixture
def task(platform: Platform) -> Iterator[Json]:
    """A task whose agent works until the test ends."""
    started = ticking(platform, times=10_000)
    yield started
    platform.post(f"/tasks/{started['id']}/cancel")


def said(platform: Platform, task: Json) -> list[str]:
    """Return the messages that the server received."""
    history = platform.get(f"/sandboxes/{task['sandbox_id']}/messages/history")
    return [message["content"] for message in history["items"]]


def send(page: Page) -> None:
    page.get_by_label("Message to the agent").fill(WORDS)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Not sent:")).to_be_visible()


def test_a_message_that_was_not_accepted_outlives_the_page_and_is_sent_once(
    quiet: BrowserContext, platform: Platform, task: Json
) -> None:
    page = quiet.new_page()
    page.goto(f"/sandbox/{task['sandbox_id']}")
    expect(page.get_by_role("feed").get_by_role("article").first).to_be_visible()
    letter = page.get_by_role("group", name="Messages to the agent").get_by_role("listitem").filter(has_text=WORDS)

    with without_api(platform, quiet):
        send(page)
        page.get_by_role("link", name="Sandboxes").click()
        expect(letter).to_have_count(0)
        page.go_back()
        expect(letter).to_contain_text("Not sent:")

    page.reload()
    expect(letter).to_contain_text("Not sent:")
    letter.get_by_role("button", name="Send again").click()
    expect(letter).to_contain_text("queued")
    expect(page.get_by_text("Not sent:")).to_have_count(0)
    page.reload()
    expect(letter).to_have_count(1)
    expect(page.get_by_text("Not sent:")).to_have_count(0)
    assert said(platform, task) == [WORDS]


def test_a_message_whose_response_was_lost_is_not_sent_twice(
    quiet: BrowserContext, platform: Platform, task: Json
) -> None:
    page = quiet.new_page()
    page.goto(f"/sandbox/{task['sandbox_id']}")

    def lose_the_answer(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route(MESSAGES, lose_the_answer)
    send(page)
    assert said(platform, task) == [WORDS]
    page.unroute_all()
    page.reload()
    with page.expect_response(MESSAGES) as answered:
        page.get_by_role("button", name="Send again").click()
    assert answered.value.headers["idempotent-replayed"] == "true"
    expect(page.get_by_text("Not sent:")).to_have_count(0)
    assert said(platform, task) == [WORDS]


def test_a_narrow_page_keeps_a_draft_while_another_view_is_shown(quiet: BrowserContext, task: Json) -> None:
    page = quiet.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/sandbox/{task['sandbox_id']}")
    page.route(MESSAGES, lambda route: route.abort())
    send(page)
    page.get_by_label("Message to the agent").fill("and more")
    page.get_by_label("Delivery").select_option("end_of_turn")

    page.get_by_role("tab", name="Details").click()
    expect(page.get_by_role("tabpanel", name="Details")).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()

    expect(page.get_by_text("Not sent:")).to_be_visible()
    expect(page.get_by_label("Message to the agent")).to_have_value("and more")
    expect(page.get_by_label("Delivery")).to_have_value("end_of_turn")


def test_signing_out_removes_drafts(context: BrowserContext, platform: Platform, task: Json) -> None:
    page = context.new_page()
    page.goto(f"/sandbox/{task['sandbox_id']}")
    page.get_by_label("Message to the agent").fill(WORDS)
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to OmoiOS")).to_be_visible()

    sign_in(context, platform)
    page.goto(f"/sandbox/{task['sandbox_id']}")
    expect(page.get_by_label("Message to the agent")).to_have_value("")
