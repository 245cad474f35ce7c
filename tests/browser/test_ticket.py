"""A ticket's page: its text, its evidence and its actions."""

import os
import re
import subprocess
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.e2e.platform import Platform, wait_for

HOSTILE = """<img src=x onerror="document.title='taken'"> [press](javascript:document.title='taken') **bold**

<script>document.title = "taken"</script>
![seen](https://example.invalid/who-looks.png)
"""

SLEEPS = """
match: 'sleeps until it is cancelled'
steps:
  - tool: Bash
    input: {command: sleep 600}
  - text: done
"""


def test_hostile_text_of_a_ticket_is_inert(page: Page, platform: Platform) -> None:
    task = platform.ticket("<b>hostile</b> title", description=HOSTILE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"/tickets/{task['ticket_id']}")

    expect(page.get_by_role("heading", name="<b>hostile</b> title", level=1)).to_be_visible()
    expect(page.get_by_text("<script>")).to_be_visible()
    expect(page.locator("article img")).to_have_count(0)
    expect(page.get_by_role("link", name="press")).to_have_count(0)
    expect(page).to_have_title("<b>hostile</b> title · OmoiOS")
    assert all(address.startswith(platform.url) for address in asked)


def test_a_failed_task_shows_its_error_and_is_retried_with_a_message(page: Page, platform: Platform) -> None:
    task = platform.ticket("Nobody knows how")
    failed = platform.until(task["id"], "failed")
    page.goto(f"/tickets/{task['ticket_id']}")
    expect(page.get_by_text(failed["error"]).first).to_be_visible()
    expect(page.get_by_role("link", name="Attempt 1", exact=True)).to_be_visible()
    expect(page.get_by_text(failed["error"])).to_have_count(1)
    # It has no open task, so there is nothing to cancel.
    expect(page.get_by_role("button", name="Cancel ticket")).to_have_count(0)
    assert violations(page, "light") == []

    page.get_by_role("button", name="Retry task").click()
    window = page.get_by_role("dialog", name="Retry task")
    window.get_by_label("Message to the agent").fill("Use math.comb.")
    window.get_by_role("button", name="Retry task").click()

    expect(window).to_be_hidden()
    expect(page.get_by_role("link", name="Attempt 2", exact=True)).to_be_visible()
    assert platform.task(task["id"])["attempt"] == 2
    platform.until(task["id"], "failed")


def test_a_projects_acceptance_commands_are_shown_on_its_tickets(page: Page, platform: Platform) -> None:
    project_id = platform.project(f"checked-{uuid4().hex[:8]}", acceptance=["test -d ."])
    ticket = platform.post("/tickets", {"title": "Nobody knows", "project_id": project_id, "acceptance": ["true"]})
    page.goto(f"/tickets/{ticket['id']}")
    commands = page.get_by_label("Ticket details").get_by_role("listitem")
    expect(commands).to_have_text([re.compile(r"^test -d \.\s*From the project$"), "true"])


def test_a_running_ticket_is_cancelled_after_confirmation(page: Page, platform: Platform) -> None:
    platform.script("sleeps", SLEEPS)
    task = platform.ticket("It sleeps until it is cancelled")
    platform.until(task["id"], "running")
    page.goto(f"/tickets/{task['ticket_id']}")
    expect(page.get_by_role("link", name="Watch the agent")).to_be_visible()

    page.get_by_role("button", name="Cancel ticket").click()
    page.get_by_role("button", name="Keep ticket").click()
    assert platform.task(task["id"])["status"] == "running"
    page.get_by_role("button", name="Cancel ticket").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel ticket").click()

    expect(page.get_by_role("status").get_by_text("Cancelled", exact=True)).to_be_visible()
    wait_for("the sandbox to end", lambda: platform.sandboxes(task["id"])[0]["ended_at"])


def test_a_blocked_ticket_links_to_its_dependency(page: Page, platform: Platform) -> None:
    first = platform.ticket("Nobody knows how")
    second = platform.ticket("It comes second", project_id=first["project_id"], depends_on=[first["ticket_id"]])
    page.goto(f"/tickets/{second['ticket_id']}")
    expect(page.get_by_role("heading", name="Blocked by")).to_be_visible()
    page.get_by_label("Ticket details").get_by_role("link", name="Nobody knows how").click()
    expect(page.get_by_role("heading", name="Nobody knows how", level=1)).to_be_visible()


def test_an_unchecked_result_is_checked_on_request_and_the_verdict_arrives(page: Page, platform: Platform) -> None:
    platform.script(
        "unproven",
        "match: 'an unproven change'\nsteps:\n  - tool: Bash\n"
        "    input: {command: 'echo yes > answer.txt'}\n  - text: done\n",
    )
    task = platform.ticket("Make an unproven change")
    platform.until(task["id"], "completed")
    page.goto(f"/tickets/{task['ticket_id']}")
    panel = page.get_by_label(f"Task {task['title']}")
    expect(panel.get_by_text("Unchecked: no acceptance commands")).to_be_visible()

    panel.get_by_role("button", name="Add check").click()
    window = page.get_by_role("dialog", name="Add check")
    expect(window.get_by_role("button", name="Run checks")).to_be_disabled()
    window.get_by_label("Commands").fill("grep no answer.txt\n")
    assert violations(page, "light") == []
    window.get_by_role("button", name="Run checks").click()
    expect(window).to_be_hidden()
    expect(panel.get_by_text("Failed: `grep no answer.txt` ended with exit code 1.")).to_be_visible()

    panel.get_by_role("button", name="Add check").click()
    window.get_by_label("Commands").fill("grep yes answer.txt")
    window.get_by_role("button", name="Run checks").click()
    expect(page.get_by_role("status").get_by_text("Done, verified", exact=True)).to_be_visible()
    expect(panel.get_by_text("passed", exact=True)).to_be_visible()
    expect(panel.get_by_role("button", name="Add check")).to_have_count(0)
    again = platform.task(task["id"])
    assert (again["status"], again["attempt"], again["outcome"]) == ("completed", 1, "verified")


def test_modified_files_that_checks_depend_on_are_listed(page: Page, platform: Platform) -> None:
    platform.script(
        "judged",
        "match: 'a change that judges itself'\nsteps:\n  - tool: Write\n"
        "    input: {file_path: tests/test_answer.py, content: 'assert True'}\n  - text: done\n",
    )
    task = platform.ticket("Make a change that judges itself", acceptance=["python3 tests/test_answer.py"])
    platform.until(task["id"], "completed")
    page.goto(f"/tickets/{task['ticket_id']}")

    note = page.get_by_role("note")
    expect(note).to_contain_text("This change modified files that its checks depend on:")
    expect(note.get_by_role("listitem")).to_have_text(["tests/test_answer.py"])
    assert violations(page, "dark") == []


def test_the_commands_for_the_repository_are_copied_and_work(page: Page, platform: Platform, tmp_path: Path) -> None:
    task = platform.until(platform.ticket(f"Calculate C(50,25) {uuid4().hex[:6]}")["id"], "completed")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/tickets/{task['ticket_id']}")

    page.get_by_role("button", name="Copy clone command").click()
    expect(page.get_by_text("Copied")).to_be_attached()
    clone = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Copy fetch command").click()
    page.wait_for_function("async before => (await navigator.clipboard.readText()) !== before", arg=clone)
    fetch = page.evaluate("navigator.clipboard.readText()")

    run(platform, tmp_path, f"{clone} work")
    run(platform, tmp_path / "work", fetch)
    assert run(platform, tmp_path / "work", "git rev-parse HEAD") == task["result"]["commit_sha"]
    assert violations(page, "light") == []
    page.goto(f"/?project={task['project_id']}")
    expect(page.get_by_text(clone)).to_be_visible()


def run(platform: Platform, folder: Path, command: str) -> str:
    """Run a copied command as a person on another machine: with an API key, and without the data folder."""
    askpass = folder.parent / "askpass"
    askpass.write_text('#!/bin/sh\nprintf "%s\\n" "$TEST_KEY"\n')
    askpass.chmod(0o700)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_ASKPASS": str(askpass),
        "TEST_KEY": platform.token,
    }
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
