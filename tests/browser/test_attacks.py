"""Attacks 36, 37 and 43 in a real browser: agents' texts are inert, and other origins have no access."""

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import BrowserContext, Dialog, Page, Request, expect

from tests.browser import hostile
from tests.browser.hostile import Run, hostile_run
from tests.e2e.platform import Platform

_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  violated(`${event.effectiveDirective} ${event.blockedURI}`))"""


@dataclass
class Watch:
    """Records what no text may make a browser do."""

    home: str
    harm: list[str] = field(default_factory=list)

    def attach(self, context: BrowserContext) -> None:
        context.on("request", self._asked)
        context.on("dialog", self._dialog)
        context.expose_function("violated", lambda what: self.harm.append(f"the policy was needed: {what}"))
        context.add_init_script(_VIOLATIONS)

    def _dialog(self, dialog: Dialog) -> None:
        self.harm.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self.home}/", "blob:", "data:")):
            self.harm.append(f"asked {request.url}")


@pytest.fixture(scope="module")
def run(platform: Platform) -> Run:
    return hostile_run(platform)


@pytest.fixture
def watch(context: BrowserContext, platform: Platform) -> Iterator[Watch]:
    made = Watch(platform.url)
    made.attach(context)
    yield made
    assert made.harm == []


def inert(page: Page) -> list[str]:
    """Return what is not inert on the page, once it is rendered."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: list[str] = page.evaluate(hostile.LOOK)
    return found


def open_all(page: Page) -> None:
    """Expand every card of a timeline, groups included."""
    for _ in range(40):
        shut = page.get_by_role("feed").locator("[data-toggle][aria-expanded=false]")
        if shut.count() == 0:
            return
        shut.first.click()


def test_on_the_board_the_ticket_and_the_lists(page: Page, run: Run, watch: Watch) -> None:
    page.goto(f"/?q={run.word}")
    expect(page.get_by_role("link", name=re.compile(f"^{run.word} <img"))).to_be_visible()
    assert inert(page) == []
    page.keyboard.press("c")
    expect(page.get_by_role("dialog", name="New ticket")).to_be_visible()
    assert inert(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill(run.word)
    expect(page.get_by_role("option", name=re.compile(f"{run.word} <img")).first).to_be_visible()
    assert inert(page) == []

    page.goto(f"/tickets/{run.ticket_id}")
    expect(page.get_by_role("heading", level=1, name=re.compile("<script>"))).to_be_visible()
    for summary in page.locator("summary").all():
        summary.click()
    for summary in page.locator("details:not([open]) summary").all():
        summary.click()
    expect(page.get_by_text("press").first).to_be_visible()
    expect(page.locator("pre").get_by_text("tricks").first).to_be_visible()
    expect(page.get_by_role("link", name="press")).to_have_count(0)
    assert inert(page) == []

    page.goto(f"/tickets/{run.failed_ticket_id}")
    expect(page.get_by_role("link", name="Attempt 1", exact=True)).to_be_visible()
    expect(page.get_by_text("<script>").first).to_be_visible()
    assert inert(page) == []

    for path in (f"/sandboxes?q={run.word}", "/activity", "/sandbox/new", "/health-overview"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        assert inert(page) == [], path


def test_in_the_timeline(page: Page, run: Run, watch: Watch) -> None:
    page.goto(f"/sandbox/{run.sandbox_id}")
    expect(page.get_by_role("feed").get_by_text("[image: seen]").first).to_be_visible()
    seen: set[str] = set()
    feed = page.get_by_role("feed")
    for kinds in ("text", "thinking", "tool", "error", "steer", "milestone", None):
        page.goto(f"/sandbox/{run.sandbox_id}" + (f"?kinds={kinds}" if kinds else ""))
        expect(feed.get_by_role("article").first).to_be_visible()
        open_all(page)
        assert inert(page) == [], kinds
        seen.update(re.findall(r"turned|tricks|press|<script>", feed.inner_text()))
        expect(page.get_by_role("link", name="press")).to_have_count(0)
    assert seen == {"turned", "tricks", "press", "<script>"}


@pytest.mark.parametrize("view", ["terminal", "changes", "details"])
def test_in_the_views(page: Page, run: Run, watch: Watch, view: str) -> None:
    page.goto(f"/sandbox/{run.sandbox_id}?view={view}")
    shown = page.get_by_role("tabpanel")
    if view == "details":
        shown.get_by_role("button", name="Show log").click()
        expect(shown.get_by_text("agent.completed").last).to_be_visible()
    elif view == "changes":
        shown.get_by_role("button", name=re.compile("<img src=x")).first.click()
        expect(shown.get_by_text("tricks").first).to_be_visible()
        assert inert(page) == []
        shown.get_by_role("button", name="Whole session").click()
        shown.get_by_role("button", name=re.compile("<img src=x")).first.click()
        expect(shown.get_by_text("tricks").first).to_be_visible()
    else:
        expect(shown.get_by_text("tricks").first).to_be_visible()
    assert inert(page) == []


def test_in_a_comparison(page: Page, run: Run, watch: Watch) -> None:
    page.goto(f"/sandboxes/compare?a={run.sandbox_id}&b={run.sandbox_id}")
    expect(page.get_by_text("<script>").first).to_be_visible()
    assert inert(page) == []


def test_on_pages_that_do_not_exist(page: Page, run: Run, watch: Watch) -> None:
    for path in ("/tickets/<img src=x onerror=window.pwned=1>", "/sandbox/<svg onload=window.pwned=1>", "/<script>"):
        page.goto(path)
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        assert inert(page) == [], path


def test_the_check_finds_what_is_not_inert(open_context: Callable[..., BrowserContext]) -> None:
    """The control: without escaping, every one of these acts."""
    page = open_context().new_page()
    page.set_content(f"{hostile.HTML}<a href='javascript:1'>press</a><p>{hostile.TURNED}</p>", wait_until="load")
    found = "\n".join(inert(page))
    for harm in ("a script ran", "iframe", "onerror of IMG", "onload of svg", "javascript:1", "acts"):
        assert harm in found


class _Evil(http.server.BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        body = b"<!doctype html><link rel=icon href=data:,><title>evil</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_: object) -> None:
        """Nothing is said."""


@pytest.fixture(scope="module")
def evil_port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Evil)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


_FETCH = """async ([address, options]) => {
  try {
    const answer = await fetch(address, { credentials: "include", ...options });
    return `${answer.type} ${answer.status} ${(await answer.text()).length > 0}`;
  } catch (error) { return error.name; }
}"""
_SOCKET = """(address) => new Promise((done) => {
  const socket = new WebSocket(address);
  socket.onopen = () => done("open");
  socket.onerror = () => done("refused");
})"""


def _names(platform: Platform, name: str) -> list[str]:
    return [item["name"] for item in platform.get("/projects", limit=100)["items"] if item["name"] == name]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_changes_and_reads_nothing(
    quiet: BrowserContext, platform: Platform, evil_port: int, host: str
) -> None:
    """Attack 43. A port is no other site to a cookie, so these requests carry it, but for a host of another name."""
    name = f"forged-{host}-{evil_port}"
    projects = f"{platform.url}/api/v1/projects"
    sockets = platform.url.replace("http", "ws") + "/api/v1/ws/events?types=none"
    wish = {"method": "POST", "body": f'{{"name": "{name}"}}'}
    page = quiet.new_page()
    page.goto(f"http://{host}:{evil_port}/")

    as_json = {**wish, "headers": {"Content-Type": "application/json"}}
    assert page.evaluate(_FETCH, [projects, as_json]) == "TypeError"
    assert page.evaluate(_FETCH, [projects, wish]) == "TypeError"
    assert page.evaluate(_FETCH, [projects, {**wish, "mode": "no-cors"}]) in ("opaque 0 false", "TypeError")
    assert page.evaluate(_FETCH, [projects, {}]) == "TypeError"
    assert page.evaluate(_SOCKET, sockets) == "refused"
    form = f"""<form method=post enctype=text/plain action={projects}>
      <input name='{{"name": "{name}", "description": "' value='"}}'><button>go</button></form>"""
    page.set_content(form)
    with page.expect_response(projects) as answered:
        page.get_by_role("button").click()
    assert answered.value.status in (401, 403, 415, 422)
    assert _names(platform, name) == []

    own = quiet.new_page()
    own.goto(platform.url)
    assert own.evaluate(_FETCH, [projects, as_json]) == "basic 201 true"
    assert own.evaluate(_SOCKET, sockets) == "open"
    assert _names(platform, name) == [name]


def _framed(page: Page, address: str) -> str:
    """Where a frame stands that was to show an address."""
    with page.expect_event("framenavigated", lambda frame: frame.parent_frame is not None) as navigated:
        page.set_content(f"<iframe src='{address}'></iframe>", wait_until="commit")
    return str(navigated.value.url)


def test_no_page_is_shown_in_a_frame_of_another_origin(
    quiet: BrowserContext, platform: Platform, evil_port: int
) -> None:
    page = quiet.new_page()
    page.goto(f"http://127.0.0.1:{evil_port}/")
    for path in ("/", "/sandboxes", "/docs", "/api/v1/projects", "/sign-in?code=x"):
        assert _framed(page, platform.url + path).startswith("chrome-error:"), path
    assert _framed(page, f"http://127.0.0.1:{evil_port}/framed").endswith("/framed")


def test_no_response_allows_every_origin(quiet: BrowserContext, platform: Platform, evil_port: int) -> None:
    for path in ("/", "/api/v1/projects", "/openapi.json", "/health", "/ready"):
        for method in ("GET", "OPTIONS"):
            headers = {"Origin": f"http://127.0.0.1:{evil_port}", "Access-Control-Request-Method": "POST"}
            answer = quiet.request.fetch(platform.url + path, method=method, headers=headers)
            assert "access-control-allow-origin" not in answer.headers, path
