"""Take screenshots of the page for README and docs: `python tools/screenshots.py [--all FOLDER]`."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.platform import Platform
from tools.chromium import find_chromium

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
SIZES = {"1280": {"width": 1280, "height": 800}, "390": {"width": 390, "height": 844}}
#: The screenshots in README and docs; `--all` takes every combination.
KEPT = {
    ("board", "light", "1280"),
    ("sandbox", "light", "1280"),
    ("changes", "dark", "1280"),
    ("replay", "light", "1280"),
    ("health", "light", "1280"),
    ("sandbox", "dark", "390"),
}

_ASKED = (
    "Add a health page",
    "Page through invoices by key instead of by offset",
    "Retry webhooks with a growing pause and give up after a day, keeping what was not delivered so that a person can "
    "send it again",
    "Mend the time zone of exported reports",
    "Describe how to restore a backup",
    "Remove the old importer",
    "Show prices with the buyer's currency",
    "Refuse passwords that have been leaked",
)
_TYPES = ("feature", "bug", "refactor", "docs", "test", "chore")
_PRIORITIES = ("MEDIUM", "HIGH", "LOW", "CRITICAL", "MEDIUM")


def _steps(last: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a script that lists, writes, fails a test, fixes it, and continues with `last`."""
    broken = "def share(total: int, people: int) -> list[int]:\n    return [total // people] * people\n"
    test = (
        "import unittest\n\nfrom shares import share\n\n\nclass ShareTest(unittest.TestCase):\n"
        "    def test_nothing_is_lost(self) -> None:\n        self.assertEqual(sum(share(10, 3)), 10)\n"
    )
    mended = "each, rest = divmod(total, people)\n    return [each + (place < rest) for place in range(people)]"
    rows = "python3 -c \"print('\\n'.join(f'RATE_{n} = {n * 7 % 1000}' for n in range(20_000)))\" > rates.py"
    return [
        {
            "text": "I look at what is there, then write the function with its test.",
            "tool": "Bash",
            "input": {"command": "ls -la"},
        },
        {"tool": "Bash", "input": {"command": "git log --oneline | head -5"}},
        {"tool": "Bash", "input": {"command": "python3 --version"}},
        {"tool": "Write", "input": {"file_path": "shares.py", "content": broken}},
        {"tool": "Write", "input": {"file_path": "test_shares.py", "content": test}},
        {"tool": "Bash", "input": {"command": "python3 -m unittest", "description": "Run the tests"}},
        {
            "tool": "Edit",
            "input": {
                "file_path": "shares.py",
                "old_string": "return [total // people] * people",
                "new_string": mended,
            },
        },
        {"tool": "Bash", "input": {"command": "python3 -m unittest", "description": "Run the tests again"}},
        {"tool": "Bash", "input": {"command": rows, "description": "Write the table of rates"}},
        last,
        {
            "text": "`share` gives the rest to the first ones, so that **nothing is lost**; its test passes.\n\n"
            "- `shares.py` divides with `divmod`\n- `rates.py` holds the table of 20,000 rates"
        },
    ]


#: A diff is coloured after its text is shown.
_SETTLED = """async () => {
  await document.fonts.ready;
  await new Promise((done) => setTimeout(() => requestAnimationFrame(done), 1500));
}"""


@dataclass(frozen=True)
class Scene:
    """The sandboxes that the screenshots show."""

    done: str
    busy: str


def lively(platform: Platform) -> Scene:
    """Create forty tickets: done, failed, blocked, and one with a running agent."""
    project_id = platform.project("shop", max_concurrent_tasks=2)
    finished = {"tool": "Bash", "input": {"command": "git status --short"}}
    works = {"tool": "Bash", "input": {"command": "python3 -m unittest -v"}, "delay_s": 3, "repeat": 90}
    platform.script("a", json.dumps({"match": "Share costs", "steps": _steps(finished)}))
    platform.script("b", json.dumps({"match": "Divide the bill", "steps": _steps(works)}))
    quick = [{"tool": "Bash", "input": {"command": "date > done.txt"}}, {"text": "Done."}]
    platform.script("c", json.dumps({"match": "health page|invoices|backup|importer", "steps": quick}))
    asked = {"project_id": project_id}
    done = platform.ticket("Share costs without losing a cent", acceptance=["python3 -m unittest"], **asked)
    platform.finished(done["id"])
    busy = platform.ticket("Divide the bill among all guests", priority="HIGH", **asked)
    sandbox_id = str(platform.until(busy["id"], "running")["sandbox_id"])
    first = [platform.ticket(title, ticket_type=_TYPES[place % 6], **asked) for place, title in enumerate(_ASKED)]
    for task in first:
        platform.finished(task["id"])
    waits = first[2]["ticket_id"]
    for number in range(30):
        title = f"{_ASKED[number % len(_ASKED)]}, part {number // len(_ASKED) + 2}"
        kind, priority = _TYPES[number % 6], _PRIORITIES[number % 5]
        platform.ticket(title, ticket_type=kind, priority=priority, depends_on=[waits], **asked)
    platform.post(f"/sandboxes/{sandbox_id}/messages", {"content": "Please keep the function free of floats."})
    platform.event(sandbox_id, "agent.message_injected")
    return Scene(platform.sandboxes(done["id"])[0]["id"], sandbox_id)


def _fits_two_panes(page: Page) -> bool:
    return bool(page.evaluate("innerWidth") > SIZES["390"]["width"])


def _board(page: Page, _: Scene) -> None:
    page.goto("/")
    page.get_by_role("link", name="Share costs without losing a cent", exact=True).wait_for()


def _sandbox(page: Page, scene: Scene) -> None:
    page.goto(f"/sandbox/{scene.busy}")
    page.get_by_role("feed").get_by_role("article").first.wait_for()
    if _fits_two_panes(page):
        page.get_by_role("tabpanel").get_by_role("button", name=re.compile("shares.py.*modified")).click()
        page.get_by_role("region", name="Diff").get_by_text("divmod").first.wait_for()


def _changes(page: Page, scene: Scene) -> None:
    page.goto(f"/sandbox/{scene.done}?view=changes")
    page.get_by_role("tabpanel").get_by_role("button", name="rates.py").first.click()
    page.get_by_role("region", name="Diff").get_by_text("RATE_0 = 0").first.wait_for()


def _replay(page: Page, scene: Scene) -> None:
    beside = "view=terminal&" if _fits_two_panes(page) else ""
    page.goto(f"/sandbox/{scene.done}?{beside}t=24")
    page.get_by_role("button", name="Go to end").wait_for()


def _health(page: Page, _: Scene) -> None:
    page.goto("/health-overview")
    page.locator(".recharts-surface").first.wait_for()


_PAGES = {"board": _board, "sandbox": _sandbox, "changes": _changes, "replay": _replay, "health": _health}


def take(browser: Browser, platform: Platform, scene: Scene, *, folder: Path, everything: bool) -> None:
    """Save each screenshot to its own file."""
    for theme in ("light", "dark"):
        for width, viewport in SIZES.items():
            context = browser.new_context(
                base_url=platform.url,
                viewport=viewport,
                color_scheme=theme,
                reduced_motion="reduce",  # type: ignore[arg-type]
            )
            page = context.new_page()
            page.goto(_link(platform))
            for name, go in _PAGES.items():
                if everything or (name, theme, width) in KEPT:
                    go(page, scene)
                    page.evaluate(_SETTLED)
                    page.screenshot(path=folder / f"{name}-{theme}-{width}.png", animations="disabled")
            context.close()


def _link(platform: Platform) -> str:
    said = subprocess.run(
        platform.command("sign-in"), env=platform.environment, check=True, capture_output=True, text=True
    ).stdout
    return next(word for word in said.split() if word.startswith("http"))


@contextmanager
def _running() -> Iterator[Platform]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    platform = Platform(folder)
    try:
        platform.start()
        yield platform
    finally:
        platform.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="save every page, width and theme to FOLDER")
    chosen = parser.parse_args()
    folder = chosen.all or IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    chromium = find_chromium()
    environment = {**os.environ, **chromium.environment}
    with _running() as platform, sync_playwright() as playwright:
        scene = lively(platform)
        browser = playwright.chromium.launch(
            executable_path=chromium.path, env=environment, args=list(chromium.arguments)
        )
        take(browser, platform, scene, folder=folder, everything=chosen.all is not None)
        browser.close()


if __name__ == "__main__":
    main()
