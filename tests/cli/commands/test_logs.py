"""`omoi logs` prints the log that the API serves."""

import pytest

from omoi_os.sandboxes.lifecycle import SandboxState
from tests.cli.commands.test_events import HOSTILE
from tests.cli.conftest import Desk


@pytest.mark.parametrize("more", [[], ["--follow"]])
def test_the_log_is_the_one_of_the_api_to_the_letter(desk: Desk, more: list[str]) -> None:
    (reporter,) = desk.reporters(1)
    desk.post(
        reporter,
        ("agent.message", {"text": HOSTILE}),
        ("agent.tool_completed", {"tool": "Bash", "output": f"first\n{HOSTILE}\nlast", "duration_ms": 3}),
    )
    desk.change(reporter, status=SandboxState.STOPPED)

    shown = desk.omoi("logs", reporter.id, *more)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == desk.get(f"/sandboxes/{reporter.id}/logs").text
    assert "\n    last\n" in shown.stdout
    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize("more", [[], ["--follow"]])
def test_each_tool_result_is_printed_once(desk: Desk, more: list[str]) -> None:
    (reporter,) = desk.reporters(1)
    call = {"tool": "Bash", "tool_use_id": "toolu_1", "is_error": False}
    desk.post(
        reporter,
        ("agent.tool_use", {**call, "input": {"command": "make test"}}),
        ("agent.tool_completed", {**call, "output": "3 passed", "duration_ms": 3}),
        ("agent.user_tool_result", {**call, "content": "3 passed", "size": 8}),
    )
    desk.change(reporter, status=SandboxState.STOPPED)

    shown = desk.omoi("logs", reporter.id, *more)

    assert shown.stdout.count("3 passed") == 1
    assert desk.get(f"/sandboxes/{reporter.id}/logs").text == shown.stdout
