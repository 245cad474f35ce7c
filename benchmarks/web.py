"""Measure the page in a real Chromium: P16."""

import asyncio
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
import psycopg
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from benchmarks.figures import Beside, Figure
from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions, plain_url
from omoi_os.db.migrate import upgrade
from tests.api_process import ApiProcess, Reporter, make_reporters
from tools.chromium import find_chromium

_EVENTS, _LINES = 100_000, 20_000
_RATE, _BATCH, _SECONDS = 500, 50, 10.0
_LAST = "That was the last of all."
_COPY = (
    "COPY sandbox_events (sandbox_id, seq, event_id, fence, posted_seq, event_type, event_data, source, occurred_at,"
    " created_at) FROM STDIN"
)
#: Records how long each frame of a page takes.
_WATCH = """() => {
  const gaps = (window.gaps = []);
  let before = performance.now();
  requestAnimationFrame(function next(now) {
    gaps.push(now - before);
    before = now;
    requestAnimationFrame(next);
  });
}"""


@dataclass(frozen=True, slots=True)
class Round:
    """Milliseconds: to open a long run, to open a long diff; the longest frame of a busy and of an empty page."""

    opened: float
    diff: float
    frame: float
    empty: float


@dataclass
class Bench:
    """A server with sandboxes of many events."""

    api: ApiProcess
    browser: Browser
    long: Reporter
    edited: Reporter
    busy: Reporter
    #: The number of the busy sandbox's next event.
    posted: int = 0

    async def context(self) -> BrowserContext:
        """Open a browser with a fresh profile, signed in."""
        context = await self.browser.new_context(
            base_url=self.api.url, viewport={"width": 1280, "height": 800}, reduced_motion="reduce"
        )
        page = await context.new_page()
        await page.goto("/")
        await page.get_by_label("Or use an API key").fill(self.api.environment["OMOI_ADMIN_TOKEN"])
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("navigation", name="Main").wait_for()
        await page.close()
        return context


async def measure(rounds: int) -> list[Figure]:
    """Measure P16 and return its figures."""
    async with _bench() as bench:
        found = [await _round(bench) for _ in range(rounds)]
    frames = [each.frame for each in found]
    return [
        Figure(
            f"P16 a run of {_EVENTS:,} events opens", [each.opened for each in found], _limit(2000, found), goal=1.0
        ),
        Figure(f"P16 a diff of {_LINES:,} lines opens", [each.diff for each in found], _limit(1000, found), goal=1.0),
        Figure(f"P16 longest frame at {_RATE} events/s", frames, _limit(100, found), goal=1.0),
        Figure("", frames, Beside("an empty page meanwhile", [each.empty for each in found])),
    ]


def _limit(milliseconds: float, rounds: list[Round]) -> Beside:
    return Beside("limit", [milliseconds] * len(rounds))


async def _round(bench: Bench) -> Round:
    context = await bench.context()
    opened = await _open(await context.new_page(), bench.long)
    diff = await _open_diff(await context.new_page(), bench.edited)
    await context.close()
    frame, empty = await _flood(bench)
    return Round(opened=opened, diff=diff, frame=frame, empty=empty)


async def _open(page: Page, reporter: Reporter) -> float:
    """Return the milliseconds from the navigation to the last event on screen."""
    begun = perf_counter()
    await page.goto(f"/sandbox/{reporter.id}", wait_until="commit")
    await page.get_by_role("feed").get_by_text(_LAST).wait_for()
    return (perf_counter() - begun) * 1000


async def _open_diff(page: Page, reporter: Reporter) -> float:
    """Return the milliseconds from the click on a view not loaded before to the first line of the diff."""
    await page.goto(f"/sandbox/{reporter.id}?view=details")
    await page.get_by_role("feed").get_by_text("large.py").first.wait_for()
    begun = perf_counter()
    await page.get_by_role("feed").get_by_role("link", name="large.py").click()
    await page.get_by_role("region", name="Diff").get_by_text("value_0 = 0").first.wait_for()
    return (perf_counter() - begun) * 1000


async def _flood(bench: Bench) -> tuple[float, float]:
    """Return the longest frame of a page that follows a sandbox, and of an empty page in another window."""
    context, other = await bench.context(), await bench.browser.new_context()
    page, empty = await context.new_page(), await other.new_page()
    await page.goto(f"/sandbox/{bench.busy.id}")
    await page.get_by_role("feed").get_by_role("article").first.wait_for()
    await empty.goto("about:blank")
    for each in (page, empty):
        await each.evaluate(_WATCH)
    await _post(bench)
    frame, nothing = [max(await each.evaluate("gaps")) for each in (page, empty)]
    await context.close()
    await other.close()
    return frame, nothing


async def _post(bench: Bench) -> None:
    sender = {"path": bench.busy.path("/events/batch"), "token": bench.busy.token, "first": bench.posted + 1}
    plan = {
        "host": "127.0.0.1",
        "port": bench.api.port,
        "per_post": _BATCH,
        "seconds": _SECONDS,
        "rate": _RATE / _BATCH,
        "senders": [sender],
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.load.poster", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    printed, _ = await process.communicate(json.dumps(plan).encode())
    if process.returncode != 0:
        raise RuntimeError("the load generator failed; see its output above")
    bench.posted += (len(json.loads(printed)["took"]) + 1) * _BATCH


@asynccontextmanager
async def _bench() -> AsyncIterator[Bench]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-bw-", dir="/tmp"))
    api = None
    try:
        url = await embedded.start(folder)
        await upgrade(url)
        engine = make_engine(url)
        long, edited, busy = await make_reporters(make_sessions(engine), 3, at_work=True)
        await engine.dispose()
        await asyncio.to_thread(_fill, plain_url(url), long)
        api = ApiProcess(folder, url)
        await api.start()
        await _edit(api, edited)
        chromium = find_chromium()
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=chromium.path, env=dict(chromium.environment) or None, args=list(chromium.arguments)
            )
            yield Bench(api, browser, long, edited, busy)
            await browser.close()
    finally:
        if api is not None:
            api.kill()
        await embedded.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _fill(database_url: str, reporter: Reporter) -> None:
    """Give a sandbox many events without posting them."""
    begun = datetime.now(UTC) - timedelta(hours=8)
    with psycopg.connect(database_url) as connection:
        with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
            for number, (event_type, data) in zip(range(1, _EVENTS + 1), _said(), strict=False):
                at = begun + timedelta(seconds=number / 4)
                is_last = number == _EVENTS
                kind, what = ("agent.message", {"text": _LAST}) if is_last else (event_type, data)
                row = (reporter.id, number + 1, f"filled-{number}", 1, number, kind, json.dumps(what), "agent", at, at)
                copy.write_row(row)
        connection.execute(
            "UPDATE sandboxes SET last_seq = %s, acked_seq = %s WHERE id = %s", [_EVENTS + 1, _EVENTS, reporter.id]
        )


def _said() -> Any:
    """Yield the events of an attempt: replies, commands with their results, files, heartbeats."""
    for turn in count(1):
        call = f"toolu_{turn}"
        command = f"python3 -m pytest tests/test_{turn}.py"
        yield "agent.assistant_message", {"message_id": f"msg_{turn}", "model": "scripted", "turn": turn}
        yield "agent.message", {"text": f"I look at part **{turn}** and run its tests.", "turn": turn}
        yield "agent.tool_use", {"tool": "Bash", "tool_use_id": call, "input": {"command": command}, "turn": turn}
        done = {"tool": "Bash", "tool_use_id": call, "is_error": turn % 20 == 0, "duration_ms": 40}
        yield "agent.tool_completed", {**done, "output": "All checks passed. " * 12, "turn": turn}
        if turn % 5 == 0:
            yield "agent.heartbeat", {"status": "working", "turn": turn}


async def _edit(api: ApiProcess, reporter: Reporter) -> None:
    """Post the event of a new file with many lines, as a worker reports it."""
    lines = [f"+value_{number} = {number}  # one of many\n" for number in range(_LINES)]
    diff = "".join(["--- /dev/null\n+++ b/large.py\n", f"@@ -0,0 +1,{_LINES} @@\n", *lines]).encode()
    digest = hashlib.sha256(diff).hexdigest()
    edit = {"file_path": "large.py", "change_type": "created", "lines_added": _LINES, "lines_removed": 0}
    event = {
        "event_type": "agent.file_edited",
        "seq": 1,
        "event_data": {**edit, "full_diff": None, "diff_blob": digest},
    }
    event["event_data"] |= {"diff_size": len(diff), "diff_preview": diff[:1000].decode()}  # type: ignore[operator]
    async with httpx.AsyncClient(base_url=api.url, headers=reporter.headers, trust_env=False, timeout=60) as client:
        (await client.put(reporter.path(f"/blobs/{digest}"), content=diff)).raise_for_status()
        (await client.post(reporter.path(), json=event)).raise_for_status()
