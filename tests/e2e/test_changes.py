"""What an agent changed and said outlives its sandbox: diffs of every change, and the conversation to go on with."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from tests.e2e.conversations import assert_gone_on, hanging
from tests.e2e.platform import Json, Platform

EVERY_WAY = """
match: every way
steps:
  - tool: Write
    input: {file_path: a.txt, content: "one\\ntwo\\nthree\\nfour\\nfive\\n"}
  - tool: Edit
    input: {file_path: a.txt, old_string: two, new_string: TWO}
  - tool: Bash
    input: {command: "sed -i s/three/THREE/ a.txt; printf 'a\\\\0b' > blob; seq 20000 > long.txt"}
  - tool: Bash
    input: {command: "git add -A && git -c user.name=a -c user.email=a@a commit -qm half && git mv a.txt b.txt"}
  - tool: Read
    input: {file_path: b.txt}
  - tool: Bash
    input: {command: "rm blob; echo new > c.txt; exit 3"}
  - text: done
"""


def edits_of(platform: Platform, sandbox_id: str) -> list[Json]:
    return [event for event in platform.events(sandbox_id) if event["event_type"] == "agent.file_edited"]


def kill_sandbox(platform: Platform, sandbox_id: str) -> None:
    """SIGKILL to the sandbox from outside: nothing in it has a last word."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            command = (entry / "cmdline").read_bytes()
            if str(platform.data_dir / "sandboxes" / sandbox_id).encode() in command:
                os.kill(int(entry.name), signal.SIGKILL)


def test_every_change_is_told_once_and_its_diff_outlives_the_sandbox(platform: Platform) -> None:
    platform.script("every-way", EVERY_WAY)
    task = platform.ticket("Change it every way")
    platform.finished(task["id"])

    (sandbox,) = platform.sandboxes(task["id"])
    platform.event(sandbox["id"], "sandbox.terminated")
    edits = edits_of(platform, sandbox["id"])
    told = [(data["tool"], data["change_type"], data["file_path"]) for data in (edit["event_data"] for edit in edits)]
    assert told == [
        ("Write", "created", "a.txt"),
        ("Edit", "modified", "a.txt"),
        ("Bash", "modified", "a.txt"),
        ("Bash", "created", "blob"),
        ("Bash", "created", "long.txt"),
        ("Bash", "renamed", "b.txt"),
        ("Bash", "deleted", "blob"),
        ("Bash", "created", "c.txt"),
    ]
    turns = [edit["event_data"]["turn"] for edit in edits]
    assert turns == [1, 2, 3, 3, 3, 4, 6, 6]
    assert edits[3]["event_data"]["binary"] is True
    assert edits[5]["event_data"]["old_path"] == "a.txt"
    long = platform.request("GET", f"/sandboxes/{sandbox['id']}/events/{edits[4]['event_id']}/diff").text
    assert (edits[4]["event_data"]["full_diff"], long.count("\n+")) == (None, 20_001)
    events = platform.events(sandbox["id"])
    order = [(event["event_type"], event["event_data"].get("tool_use_id")) for event in events]
    for edit in edits:
        call = edit["event_data"]["tool_use_id"]
        completed = order.index(("agent.tool_completed", call))
        assert order.index(("agent.tool_use", call)) < completed < order.index(("agent.file_edited", call))
    whole = platform.request("GET", f"/sandboxes/{sandbox['id']}/diff")
    assert applied(whole.content) == {"b.txt": 5, "c.txt": 1, "long.txt": 20_000}


def applied(diff: bytes) -> dict[str, int]:
    """The lines that git finds added by a diff, for each file."""
    listed = subprocess.run(["git", "apply", "--numstat", "-"], input=diff, capture_output=True, check=True, cwd="/tmp")
    rows = [line.split("\t") for line in listed.stdout.decode().splitlines()]
    return {name: int(added) for added, _, name in rows}


def test_a_killed_attempt_s_conversation_goes_on_in_a_new_sandbox(platform: Platform) -> None:
    task_id, first = hanging(platform)

    kill_sandbox(platform, first)

    # The call that was cut off is made again, the one before it is not.
    second = assert_gone_on(platform, task_id, first, calls=["Bash", "Bash"])
    ended = platform.event(first, "agent.shutdown")["event_data"]
    assert (ended["reason"], "+++ b/first.txt" in ended["session_diff"]) == ("salvaged", True)
    assert second["id"] != first
