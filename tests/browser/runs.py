"""Sessions for the browser tests, each in its own project."""

import re
from uuid import uuid4

from playwright.sync_api import Locator, Page

from tests.e2e.platform import Json, Platform

#: Many small commands, two that fail, a reply and an edit.
LONG = """
match: 'a long run'
steps:
  - text: "I look around **first**."
    tool: Bash
    input: {command: 'echo the beginning'}
  - tool: Bash
    input: {command: 'echo broken; exit 3'}
  - tool: Bash
    input: {command: 'seq 1 40 | sed "s/^/line /"'}
    repeat: 12
  - tool: Bash
    input: {command: 'exit 4'}
  - tool: Write
    input: {file_path: notes.txt, content: "one\\ntwo\\n"}
  - text: 'All of it is done.'
"""

#: A renamed file, a binary file and one of 20,000 lines.
CHANGED = """
match: 'many changes'
steps:
  - tool: Bash
    input: {command: 'seq 1 40 > old-name.txt; printf "a\\nb\\nc\\n" > small.txt'}
  - tool: Bash
    input: {command: 'git add --all && git commit --quiet --message one && git mv old-name.txt new-name.txt'}
  - tool: Bash
    input: {command: 'head -c 3000 /dev/urandom > picture.bin; seq 1 20000 > big.txt'}
  - tool: Bash
    input: {command: 'sed -i s/b/B/ small.txt'}
  - text: done
"""


#: Lines that one edit adds and the next one replaces: the session's diff has fewer lines than its edits.
TWICE = """
match: 'edits twice'
steps:
  - tool: Write
    input: {file_path: numbers.txt, content: "1\\n2\\n3\\n"}
  - tool: Edit
    input: {file_path: numbers.txt, old_string: "1\\n2\\n", new_string: "one\\ntwo\\n"}
  - text: done
"""


def a_run(platform: Platform, title: str, script: str, **fields: object) -> Json:
    """Create a scripted ticket in its own project and return its task."""
    platform.script(f"run-{uuid4().hex[:8]}", script)
    return platform.ticket(title, project_id=platform.project(f"looks-{uuid4().hex[:8]}"), **fields)


def sandbox_of(platform: Platform, task: Json) -> str:
    """Return the sandbox of the task's agent."""
    platform.until(task["id"], "assigned", "running", "verifying", "completed")
    return str(platform.sandboxes(task["id"])[0]["id"])


def finished(platform: Platform, title: str, script: str) -> str:
    """Run a script to its end and return the sandbox."""
    task = a_run(platform, title, script)
    platform.until(task["id"], "completed")
    return sandbox_of(platform, task)


def write_new_project(window: Locator, name: str) -> None:
    """Name a new project in a dialog that offers existing ones; the platform must have at least one."""
    window.get_by_role("combobox", name="Project", exact=True).select_option("New project…")
    window.get_by_label("New project").fill(name)


def badge(page: Page) -> Locator:
    """Return the badge with the sandbox's status."""
    return page.get_by_role("button", name=re.compile("^Status: "))


def rows(page: Page) -> Locator:
    """Return the visible rows of the timeline."""
    return page.get_by_role("feed", name="Events").get_by_role("article")


def row(page: Page, text: str) -> Locator:
    """Return the row of the timeline that contains this text."""
    return rows(page).filter(has_text=text)
