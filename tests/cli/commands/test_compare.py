"""`omoi compare`: what sandboxes have in common, and where they differ."""

import json
from typing import Any

from omoi_os.cli.commands.compare import first_difference
from tests.cli.commands.test_events import HOSTILE
from tests.cli.conftest import Desk


def call(command: str) -> tuple[str, dict[str, Any]]:
    return "agent.tool_use", {"tool": "Bash", "input": {"command": command}}


def edit(path: str) -> tuple[str, dict[str, Any]]:
    return "agent.file_edited", {"file_path": path, "change_type": "modified", "lines_added": 1, "lines_removed": 0}


def test_runs_are_shown_side_by_side_with_the_call_at_which_they_part(desk: Desk) -> None:
    first, second = desk.reporters(2)
    desk.post(first, call("ls"), call("make"), edit("a.py"), edit("a.py"), edit("b.py"))
    desk.post(second, call("ls"), call(f"make {HOSTILE}"), call("make"), edit("a.py"))
    desk.change(second, cost_usd=0.5, tokens=1234)

    shown = desk.omoi("compare", first.id, second.id, COLUMNS="140")
    told = json.loads(desk.omoi("compare", first.id, second.id, "--json").stdout)

    assert (shown.returncode, shown.stderr) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in shown.stdout.splitlines() if line.strip()}
    assert rows["agent.tool_use"] == ["2", "3"]
    assert (rows["cost"], rows["tokens"]) == (["$0.0000", "$0.5000"], ["0", "1,234"])
    assert rows["files"] == ["changed", "2", "1"]
    assert "Their tool calls differ from call 2 on:" in shown.stdout
    assert f"  {first.id}  b.py\n" in shown.stdout
    assert f"  {first.id}  seq 3  Bash make\n" in shown.stdout
    assert f"  {second.id}  seq 3  Bash make \\x1b[2J" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert told["first_difference"] == 1
    assert [run["files_changed"] for run in told["sandboxes"]] == [["a.py", "b.py"], ["a.py"]]


def test_a_sandbox_that_stops_earlier_differs_there_and_equal_ones_do_not() -> None:
    one, two = {"tool": "Read", "input": {"file_path": "a"}}, {"tool": "Read", "input": {"file_path": "b"}}

    assert first_difference([[one, two], [one]]) == 1
    assert first_difference([[one, two], [one, two], [one, two]]) is None
    assert first_difference([[], []]) is None
