"""`omoi verify`: the whole flow of a running platform, and its report on a faulty sandbox."""

import re
import subprocess

from tests.cli.conftest import Desk
from tests.e2e.platform import Platform


def test_a_new_ticket_is_checked_and_its_sandbox_can_be_checked_again(platform: Platform) -> None:
    def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            platform.command("verify", *arguments),
            env=platform.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    first = verify()
    found = re.search(r"All 8 checks passed for sandbox (\S+)\.\n", first.stdout)
    assert (first.returncode, first.stderr) == (0, "")
    assert found, first.stdout
    again = verify(found[1])
    (checker,) = platform.sandboxes(platform.get(f"/sandboxes/{found[1]}")["task_id"], purpose="verify")
    refused = verify(checker["id"])

    assert (again.returncode, again.stdout.count("ok "), "FAILED" in again.stdout) == (0, 10, False)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "no agent worked in" in refused.stderr


def test_a_failed_check_is_named_and_exits_with_1(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)
    desk.post(reporter, ("agent.started", {}), ("agent.tool_use", {"tool": "\x1b[2J", "tool_use_id": "1"}))
    desk.change(reporter, event_counts={"agent.started": 1, "agent.tool_use": 2, "sandbox.created": 1})

    answer = desk.omoi("verify", reporter.id)

    assert answer.returncode == 1
    for fault in (
        "FAILED   ended        the sandbox is running",
        "FAILED   events       0 agent.completed events instead of 1",
        "FAILED   counts       agent.tool_use: 2 events counted, 1 listed",
        "FAILED   order        task.verified is missing",
        "FAILED   tool calls   the call of \\x1b[2J in event 3 has no result",
        "FAILED   result       the outcome is in progress",
    ):
        assert fault in answer.stdout
