"""The server becomes unreachable and returns: the page says so, reconnects and misses nothing."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, WebSocketRoute, expect

from tests.browser.outages import without_api, without_network, without_platform
from tests.browser.runs import LONG, badge, finished
from tests.browser.ticking import events_on_page, ticking
from tests.e2e.platform import Platform

TIMES = 15
BANNER = "this page may be out of date"
DRAFT = "half a thought"
#: Retries of a request.
RETRIES = 3
LIST = re.compile(r"/api/v1/sandboxes\?")
EVENTS = re.compile(r"/api/v1/sandboxes/[^/]+/events\?")
DIFF_PROGRAM = re.compile(r"/assets/diff-code")
NOT_YET = "Some events could not be loaded yet. Retrying…"

Outage = Callable[[Platform, BrowserContext], AbstractContextManager[None]]


@pytest.mark.parametrize("outage", [without_api, without_platform, without_network])
def test_nothing_is_missed_or_repeated_while_the_server_is_unreachable(
    quiet: BrowserContext, platform: Platform, outage: Outage
) -> None:
    task = ticking(platform, times=TIMES)
    page = quiet.new_page()
    page.goto(f"/sandbox/{task['sandbox_id']}")
    expect(page.get_by_role("feed").get_by_role("article").first).to_be_visible()
    page.get_by_label("Message to the agent").fill(DRAFT)
    said = page.get_by_text(BANNER)
    expect(said).to_have_count(0)

    with outage(platform, quiet):
        expect(said).to_be_visible()
        expect(page.get_by_label("Message to the agent")).to_have_value(DRAFT)

    expect(said).to_have_count(0)
    expect(page.get_by_role("feed").get_by_text("The run is over.").first).to_be_visible(timeout=90_000)
    platform.finished(task["id"])
    expect(page.get_by_text("no longer accepts messages")).to_be_visible()
    of_api = [event["seq"] for event in platform.events(task["sandbox_id"])]
    assert len(of_api) > 2 * TIMES
    assert events_on_page(page) == of_api


@pytest.mark.parametrize("outage", [without_api, without_network])
def test_a_click_while_the_server_is_unreachable_says_so_and_loses_nothing(
    quiet: BrowserContext, platform: Platform, outage: Outage
) -> None:
    project_id = platform.project(f"unreachable-{uuid4().hex[:8]}")
    page = quiet.new_page()
    page.goto(f"/?project={project_id}")
    page.get_by_role("button", name="New ticket").click()
    window = page.get_by_role("dialog", name="New ticket")
    expect(window.get_by_label("Project", exact=True)).to_have_value(project_id)
    window.get_by_label("Title").fill("Nobody knows how")
    with outage(platform, quiet):
        window.get_by_role("button", name="Create ticket").click()
        expect(window.get_by_role("alert")).to_have_text("The server is unreachable; check that it is running.")
        page.keyboard.press("Escape")
        expect(page.get_by_text(BANNER)).to_be_visible()
        page.get_by_role("button", name="Account").click()
        page.get_by_role("menuitem", name="Sign out").click()
        expect(page.get_by_role("status").get_by_text("You are still signed in")).to_be_visible()

    expect(page.get_by_text(BANNER)).to_have_count(0)
    page.get_by_role("button", name="New ticket").click()
    expect(window.get_by_label("Title")).to_have_value("Nobody knows how")
    window.get_by_role("button", name="Create ticket").click()
    expect(window).to_be_hidden()
    assert len(platform.get("/tickets", project_id=project_id)["items"]) == 1


def test_a_draft_outlives_the_page_and_the_server(quiet: BrowserContext, platform: Platform) -> None:
    task = ticking(platform, times=10_000)
    page = quiet.new_page()
    page.goto(f"/sandbox/{task['sandbox_id']}")
    page.get_by_label("Message to the agent").fill(DRAFT)
    platform.kill_part("api")
    platform.get("/auth/me")
    page.reload()
    expect(page.get_by_label("Message to the agent")).to_have_value(DRAFT)
    platform.post(f"/tasks/{task['id']}/cancel")


def test_failed_pages_load_when_the_server_is_back(quiet: BrowserContext, platform: Platform) -> None:
    project_id = platform.project("comes back")
    tasks = [platform.ticket(title, project_id=project_id) for title in ("The first one", "The second one")]
    for task in tasks:
        platform.finished(task["id"])
    page = quiet.new_page()
    page.goto(f"/?project={project_id}")
    page.get_by_role("link", name="The first one", exact=True).click()
    expect(page.get_by_role("heading", name="The first one", level=1)).to_be_visible()
    page.go_back()

    with without_api(platform, quiet):
        page.get_by_role("link", name="The second one", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("The ticket could not be loaded")

    expect(page.get_by_role("heading", name="The second one", level=1)).to_be_visible()


def test_events_of_a_sandbox_opened_during_an_outage_load_when_it_ends(
    quiet: BrowserContext, platform: Platform
) -> None:
    sandbox_id = finished(platform, "Open a long run twice", LONG)
    page = quiet.new_page()
    held: list[Route] = []
    page.route(DIFF_PROGRAM, lambda route: held.append(route))
    page.goto("/sandboxes")
    page.get_by_role("row").filter(has_text=sandbox_id).get_by_role("link").first.click()
    expect(page.get_by_role("feed").get_by_role("article").first).to_be_visible()
    expect(page.get_by_role("region", name="Changed files").get_by_text("notes.txt")).to_be_visible()
    page.go_back()

    with without_api(platform, quiet):
        page.get_by_role("row").filter(has_text=sandbox_id).get_by_role("link").first.click()
        expect(page.get_by_role("alert").get_by_text(NOT_YET)).to_be_visible()
        expect(badge(page)).to_have_text("Unchecked")
        expect(page.get_by_text("Loading changes")).to_be_visible()
        expect(page.get_by_text("ended without changing a file")).to_have_count(0)
        for route in held:
            route.abort()
        page.unroute(DIFF_PROGRAM)

    expect(page.get_by_role("feed").get_by_role("article").first).to_be_visible()
    expect(page.get_by_text(NOT_YET)).to_have_count(0)
    expect(badge(page)).to_have_text("Unchecked")
    stored = [event["seq"] for event in platform.events(sandbox_id)]
    # The sandbox row has the status; the last events may arrive later.
    slider = page.get_by_role("slider", name="Replay position")
    expect(slider).to_have_attribute("aria-valuemax", str(len(stored) - 1))
    assert events_on_page(page) == stored


def test_events_that_failed_to_load_are_retried_while_connected(quiet: BrowserContext, platform: Platform) -> None:
    task = ticking(platform, times=TIMES)
    page = quiet.new_page()
    page.route(EVENTS, lambda route: route.abort(), times=2)
    page.goto(f"/sandbox/{task['sandbox_id']}")
    expect(page.get_by_role("alert").get_by_text(NOT_YET)).to_be_visible()
    expect(page.get_by_text(NOT_YET)).to_have_count(0)

    expect(page.get_by_role("feed").get_by_text("The run is over.").first).to_be_visible(timeout=90_000)
    platform.finished(task["id"])
    expect(page.get_by_text("no longer accepts messages")).to_be_visible()
    assert events_on_page(page) == [event["seq"] for event in platform.events(task["sandbox_id"])]


def test_rejected_requests_for_events_are_not_retried(quiet: BrowserContext, platform: Platform) -> None:
    sandbox_id = finished(platform, "Refuse a long run", LONG)
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=403, json={"detail": "these are not for you"})

    page = quiet.new_page()
    page.clock.install()
    page.route(EVENTS, refuse)
    page.goto(f"/sandbox/{sandbox_id}")
    expect(page.get_by_role("alert")).to_have_text("Some events could not be loaded: these are not for you.")
    page.clock.run_for(60_000)
    assert len(asked) == 1


def test_every_page_and_dialog_opens_while_the_server_is_unreachable(quiet: BrowserContext, platform: Platform) -> None:
    task = platform.ticket("Nobody knows how")
    page = quiet.new_page()
    with page.expect_response(re.compile("/assets/details-view")):
        page.goto(f"/?project={task['project_id']}")

    with without_api(platform, quiet):
        expect(page.get_by_text(BANNER)).to_be_visible()
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()
        page.get_by_role("option", name="Sandboxes").click()
        expect(page.get_by_role("heading", name="Sandboxes", level=1)).to_be_visible()
        page.get_by_role("link", name="Activity").click()
        expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()


def asks_twice(context: BrowserContext) -> bool:
    """Return whether this browser requests a failed module again; older ones cache the failure."""
    page = context.new_page()
    page.goto("/activity")
    fetch = "import('/assets/probe.js').then(() => true, () => false)"
    context.route("**/assets/probe.js", lambda route: route.abort())
    assert not page.evaluate(fetch)
    context.unroute_all()
    context.route(
        "**/assets/probe.js", lambda route: route.fulfill(content_type="text/javascript", body="export default 1")
    )
    asked = bool(page.evaluate(fetch))
    page.close()
    return asked


def test_a_page_that_cannot_be_fetched_says_so_and_loads_later(quiet: BrowserContext, platform: Platform) -> None:
    page = quiet.new_page()
    loads: list[Page] = []
    page.on("load", lambda loaded: loads.append(loaded))
    quiet.route(re.compile("/assets/list-page"), lambda route: route.abort())
    page.goto("/activity")
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()

    with without_api(platform, quiet):
        expect(page.get_by_text(BANNER)).to_be_visible()
        page.get_by_role("link", name="Sandboxes").click()
        expect(page.get_by_text("The page could not be loaded because the server is unreachable.")).to_be_visible()
        quiet.unroute_all()

    expect(page.get_by_role("heading", name="Sandboxes", level=1)).to_be_visible()
    # A browser that caches the failure reloads the page.
    assert len(loads) == (1 if asks_twice(quiet) else 2)


def test_content_stays_when_a_refresh_fails(quiet: BrowserContext, platform: Platform) -> None:
    task = ticking(platform, times=10_000)
    page = quiet.new_page()
    page.goto("/sandboxes")
    row = page.get_by_role("row").filter(has_text=task["sandbox_id"])
    expect(row).to_be_visible()
    held: list[Route] = []
    failed: list[str] = []
    page.route(LIST, lambda route: held.append(route))
    with page.expect_request(LIST):
        pass

    def is_given_up(request: Request) -> bool:
        if LIST.search(request.url):
            failed.append(request.url)
        return len(failed) > RETRIES

    with without_api(platform, quiet):
        with page.expect_event("requestfailed", is_given_up, timeout=60_000):
            page.route(LIST, lambda route: route.continue_())
            for route in held:
                route.continue_()
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(row).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
    platform.post(f"/tasks/{task['id']}/cancel")
    expect(row).to_contain_text("Ended without a result")


class Held:
    """Holds back a page's subscriptions until they are released."""

    def __init__(self, page: Page, *, begun: bool = True) -> None:
        self.begun = begun
        self._wishes: list[str | bytes] = []
        self._lines: list[WebSocketRoute] = []
        page.route_web_socket(re.compile("/api/v1/ws/events"), self._connect)

    def let_go(self) -> None:
        for wish in self._wishes:
            self._lines[-1].send(wish)

    def _connect(self, line: WebSocketRoute) -> None:
        server = line.connect_to_server()
        self._lines.append(server)

        def pass_on(wish: str | bytes) -> None:
            if self.begun and json.loads(wish)["op"] == "subscribe":
                self._wishes.append(wish)
            else:
                server.send(wish)

        line.on_message(pass_on)


@pytest.mark.parametrize("is_first_page", [True, False])
def test_events_between_loading_and_subscribing_are_shown(
    quiet: BrowserContext, platform: Platform, is_first_page: bool
) -> None:
    task = ticking(platform, times=10_000)
    page = quiet.new_page()
    held = Held(page, begun=is_first_page)
    if is_first_page:
        page.goto(f"/sandbox/{task['sandbox_id']}")
    else:
        page.goto("/sandboxes")
        link = page.get_by_role("row").filter(has_text=task["sandbox_id"]).get_by_role("link").first
        expect(link).to_be_visible()
        held.begun = True
        link.click()
    feed = page.get_by_role("feed")
    expect(feed.get_by_role("article").first).to_be_visible()
    platform.post(f"/tasks/{task['id']}/cancel")
    platform.event(task["sandbox_id"], "sandbox.terminated")
    expect(feed.get_by_text("Sandbox ended")).to_have_count(0)

    held.let_go()

    expect(feed.get_by_text("Sandbox ended")).to_be_visible()


def test_activity_before_the_subscription_is_shown(quiet: BrowserContext, platform: Platform) -> None:
    task = ticking(platform, times=10_000)
    page = quiet.new_page()
    held = Held(page, begun=False)
    page.goto("/sandboxes")
    expect(page.get_by_role("row").filter(has_text=task["sandbox_id"])).to_be_visible()
    held.begun = True
    page.get_by_role("link", name="Activity").click()
    happened = page.get_by_role("article").filter(has=page.get_by_title(task["sandbox_id"]))
    expect(happened.first).to_be_visible()
    platform.post(f"/tasks/{task['id']}/cancel")
    platform.event(task["sandbox_id"], "sandbox.terminated")
    expect(happened.filter(has_text="Sandbox ended")).to_have_count(0)

    held.let_go()

    expect(happened.filter(has_text="Sandbox ended")).to_be_visible()


def test_a_status_change_before_the_subscription_is_shown(quiet: BrowserContext, platform: Platform) -> None:
    task = ticking(platform, times=10_000)
    page = quiet.new_page()
    held = Held(page)
    page.goto("/sandboxes")
    row = page.get_by_role("row").filter(has_text=task["sandbox_id"])
    expect(row).to_contain_text("Running")
    platform.post(f"/tasks/{task['id']}/cancel")
    platform.event(task["sandbox_id"], "sandbox.terminated")
    expect(row).to_contain_text("Running")

    held.let_go()

    expect(row).to_contain_text("Ended without a result")
