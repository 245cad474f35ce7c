"""A warm sandbox: the worker waits without a task, accepts one, and no other."""

import json
from pathlib import Path

import pytest

from omoi_os.worker.command import handover_argv, salvage_argv, worker_argv
from omoi_os.worker.processes import tree
from omoi_os.worker.startup import handover
from tests.worker.attempt.test_attempt import alive
from tests.worker.conftest import BRANCH, Worker, git
from tests.worker.platform import TOKEN, Platform

ENV = {"tool": "Bash", "input": {"command": "env"}}


@pytest.fixture
async def waiting(worker: Worker) -> Worker:
    """A worker that waits."""
    await worker.launch(worker_argv(waiting=True), worker.where)
    return worker


async def hand_over(worker: Worker, variables: dict[str, str] | None) -> tuple[int, str]:
    """Hand variables over, or without any wait until the worker is ready."""
    stdin = json.dumps(variables).encode() if variables is not None else b""
    code, _, said = await worker.run(handover_argv(), worker.where, stdin=stdin)
    return code, said


async def test_a_task_that_is_handed_over_runs_like_any_other_and_no_second_one_does(
    waiting: Worker, platform: Platform, repository: Path
) -> None:
    assert await hand_over(waiting, None) == (0, "")
    assert waiting.paths.ready_file.exists()
    assert waiting.paths.handover_socket.stat().st_mode & 0o777 == 0o600
    assert waiting.process
    below = tree(waiting.process.pid)
    assert len(below) == 2
    assert all(TOKEN.encode() not in Path(f"/proc/{pid}/environ").read_bytes() for pid in below)
    assert platform.events == platform.heartbeats == []

    platform.steps = [ENV, {"tool": "Write", "input": {"file_path": "warm.txt", "content": "x\n"}}, {"text": "done"}]
    assert await hand_over(waiting, waiting.environ()) == (0, "")
    code, said = await hand_over(waiting, waiting.environ())
    assert (code, "used once" in said) == (4, True)
    assert not waiting.paths.handover_socket.exists()
    assert not waiting.paths.ready_file.exists()
    assert await waiting.end() == (0, "")

    assert [platform.events[number]["event_type"] for number in (0, -1)] == ["agent.started", "agent.completed"]
    assert git(repository, "show", f"{BRANCH}:warm.txt") == "x"
    code, out, _ = await waiting.run(salvage_argv(), waiting.where)
    found = json.loads(out)
    assert (code, found["wip_commit"], found["events_left"]) == (0, None, 0)
    assert found["events"] == len(platform.events)
    output = platform.of_type("agent.tool_completed")[0]["event_data"]["output"]
    seen = dict(line.partition("=")[::2] for line in output.splitlines())
    assert (seen["USER_ID"], seen["ANTHROPIC_AUTH_TOKEN"], seen["PATH"]) == ("user-1", TOKEN, waiting.where["PATH"])
    assert not seen.keys() & {"OMOI_WORKSPACE", "OMOI_GATEWAY_FOLDER", "LC_ALL"}

    await waiting.launch(worker_argv(waiting=True), waiting.where)
    code, said = await waiting.end()
    assert (code, "used once" in said) == (2, True)


async def test_what_makes_no_start_is_refused_and_the_worker_waits_on_until_sigterm(waiting: Worker) -> None:
    assert await hand_over(waiting, None) == (0, "")
    incomplete = waiting.environ() | {"SANDBOX_ID": ""}
    code, said = await hand_over(waiting, incomplete)
    assert (code, "SANDBOX_ID is not set" in said) == (2, True)
    code, said = await hand_over(waiting, {"SANDBOX_ID": "x" * (5 << 20)})
    assert (code, "bytes" in said) == (2, True)
    assert await hand_over(waiting, None) == (0, "")

    assert waiting.process
    below = list(tree(waiting.process.pid))
    waiting.process.terminate()
    assert await waiting.end() == (143, "")
    assert not alive(below)
    assert not waiting.paths.taken_file.exists()


async def test_a_task_may_come_before_the_sdk_is_loaded(waiting: Worker, platform: Platform) -> None:
    platform.steps = [{"text": "done"}]
    assert await hand_over(waiting, waiting.environ()) == (0, "")
    assert await waiting.end() == (0, "")
    assert platform.events[-1]["event_type"] == "agent.completed"


def test_where_nobody_waits_the_handover_says_so(root: Path) -> None:
    code, said = handover.hand_over(str(root), b"{}", wait=0)

    assert (code, said.startswith("No worker waits here")) == (5, True)
