"""`omoi events`: in order, safe for a terminal, and followed across a killed API."""

import json
import re
import signal
import subprocess

import pytest

from omoi_os.printable import printable
from tests.cli.conftest import Desk, Json, lines_of_json
from tests.e2e.platform import Platform

#: Clears the screen, sets the title, writes to the clipboard, turns text around, passes for another line.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x9b31m\u202egnp.\u2066\u200b\r\n99  forged\x7f\ttab"

SLOW = """
match: Slow and steady
steps:
  - tool: Bash
    input: {command: echo one}
  - tool: Bash
    input: {command: echo two > two.txt}
    delay_s: 2
  - tool: Bash
    input: {command: cat two.txt}
    delay_s: 2
  - text: done
"""


def test_each_event_is_one_line_in_order_and_control_characters_are_escaped(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)
    desk.post(
        reporter,
        ("agent.message", {"text": HOSTILE}),
        ("agent.tool_use", {"tool": HOSTILE, "input": {"command": HOSTILE}}),
        ("agent.unheard_of", {HOSTILE: HOSTILE}),
    )

    shown = desk.omoi("events", reporter.id, COLUMNS="500")
    narrow = desk.omoi("events", reporter.id, COLUMNS="60")
    as_json = desk.omoi("events", reporter.id, "--json")
    of_type = desk.omoi("events", reporter.id, "--type", "agent.tool_use", "--json")

    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["1", "2", "3", "4"]
    assert "\\x1b[2J\\x1b]0;owned\\x07" in shown.stdout
    for answer in (shown, narrow, as_json, of_type):
        assert (answer.returncode, answer.stderr) == (0, "")
        assert printable(answer.stdout) == answer.stdout
        assert "\t" not in answer.stdout
    assert max(map(len, narrow.stdout.splitlines())) == 60
    assert lines_of_json(as_json.stdout) == desk.get(f"/sandboxes/{reporter.id}/events?order=asc").json()["items"]
    assert [event["seq"] for event in lines_of_json(of_type.stdout)] == [3]


def test_followed_events_are_complete_and_single_though_the_api_is_killed(platform: Platform) -> None:
    platform.script("slow", SLOW)
    task = platform.ticket("Slow and steady", acceptance=["test -e two.txt"])
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]
    command = platform.command("events", sandbox_id, "--follow", "--json")
    heard: list[Json] = []
    killed_at = None
    with subprocess.Popen(command, env=platform.environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            heard.append(json.loads(line))
            if killed_at is None and heard[-1]["event_type"] == "agent.tool_use":
                killed_at = heard[-1]["seq"]
                platform.kill_part("api")

    assert process.returncode == 0
    assert heard == platform.events(sandbox_id)
    assert heard[-1]["event_type"] == "task.verified"
    assert killed_at is not None
    assert killed_at < len(heard) - 5


def test_ctrl_c_ends_it_without_a_traceback(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)

    with desk.start("events", reporter.id, "--follow") as process:
        assert process.stdout is not None
        assert "sandbox.created" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=30)

    assert (process.returncode, complaint) == (130, "")


@pytest.mark.parametrize("command", [["events", "--json"], ["logs"]])
def test_a_closed_output_pipe_is_no_error(desk: Desk, command: list[str]) -> None:
    (reporter,) = desk.reporters(1)
    desk.post(reporter, *[("agent.message", {"text": "a long story\n" * 400})] * 60)

    with desk.start(command[0], reporter.id, *command[1:]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        complaint = process.stderr.read()

    assert (process.returncode, complaint) == (141, "")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["events", name] for name in ("omoios-00000000-000000", "health", "../tasks", "", "\x1b[2J")),
        *(["logs", "none", "--follow"], ["verify", "none"], ["compare", "none", "neither"]),
    ],
)
def test_an_unknown_sandbox_is_one_sentence(desk: Desk, arguments: list[str]) -> None:
    answer = desk.omoi(*arguments)

    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert re.match(
        r"omoi: sandbox '.*' does not exist or is not visible to you; see `omoi sandboxes`\n", answer.stderr
    )
    assert "\x1b" not in answer.stderr


def test_a_type_that_cannot_be_one_is_refused_with_and_without_following(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)

    for more in ([], ["--follow"]):
        answer = desk.omoi("events", reporter.id, "--type", "No Type", *more)

        assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
        assert "event_type" in answer.stderr
