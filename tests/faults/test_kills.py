"""`kill -9` of any process at any moment: one completed task, nothing lost, nothing doubled, nobody left behind."""

import asyncio
import contextlib
import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.protocol.paths import PID_FILE
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.local.host.provider import LocalProvider
from tests.e2e.platform import ENDED, Json, Platform, wait_for

#: Slow enough to be hit in the middle of each step, and safe to be started over.
SCRIPT = """
match: survive
steps:
  - tool: Bash
    input: {command: 'echo one >> steps.txt'}
    delay_s: 0.4
  - tool: Bash
    input: {command: 'python3 -c "import time; time.sleep(0.8)"; echo two >> steps.txt'}
    delay_s: 0.4
  - tool: Bash
    input: {command: 'echo three >> steps.txt; touch /tmp/go'}
    delay_s: 0.4
  - text: survived
"""
ACCEPTANCE = ["grep -q three steps.txt", 'python3 -c "import time; time.sleep(1)"']
#: Holds the verification until it is let go: a task must not be through while the API is still starting again.
#: Where the agent worked, it is open.
GATE = "until [ -e /tmp/go ]; do sleep 0.1; done"

Stage = Callable[[Platform, str], object]


def assigned(platform: Platform, task_id: str) -> object:
    return platform.until(task_id, "assigned", "running", "verifying")


def started(platform: Platform, task_id: str) -> object:
    return _saw(platform, task_id, "agent.started", 1)


def in_a_tool(platform: Platform, task_id: str) -> object:
    return _saw(platform, task_id, "agent.tool_use", 2)


def verifying(platform: Platform, task_id: str) -> object:
    platform.until(task_id, "verifying")
    return wait_for("a verify sandbox", lambda: platform.sandboxes(task_id, purpose="verify"))


def let_it_be_verified(platform: Platform, task_id: str) -> None:
    """Open the gate in every verify sandbox there is, until the task has ended."""
    provider = LocalProvider(platform.data_dir / "sandboxes")
    touch = ["/usr/bin/touch", "/tmp/go"]

    def look() -> bool:
        for sandbox in platform.sandboxes(task_id, purpose="verify"):
            with contextlib.suppress(ProviderError):
                asyncio.run(provider.exec(SandboxRef(sandbox["id"]), touch, timeout=timedelta(seconds=20)))
        return platform.task(task_id)["status"] in ENDED

    wait_for(f"task {task_id} to be verified", look)


def _saw(platform: Platform, task_id: str, event_type: str, count: int) -> object:
    def look() -> bool:
        sandbox_id = platform.task(task_id)["sandbox_id"]
        if sandbox_id is None:
            return False
        items = platform.get(f"/sandboxes/{sandbox_id}/events", event_type=event_type)["items"]
        return len(items) >= count

    return wait_for(f"{count} {event_type}", look)


def slow_task(platform: Platform, *also: str) -> str:
    platform.script("survive", SCRIPT)
    return str(platform.ticket("Please survive this", acceptance=[*ACCEPTANCE, *also])["id"])


def assert_sound(platform: Platform, task_id: str) -> Json:
    """The task is completed, and its history has no gap, no double and no leftover."""
    done = platform.finished(task_id)
    assert (done["status"], done["result"]["verified"]) == ("completed", True), done
    work = platform.sandboxes(task_id)
    assert [sandbox["attempt"] for sandbox in work] == list(range(1, done["attempt"] + 1))
    wait_for("every sandbox to end", lambda: all(s["ended_at"] for s in platform.sandboxes(task_id)))
    histories = [platform.events(sandbox["id"]) for sandbox in work]
    for events in histories:
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert max(Counter(event["event_id"] for event in events).values()) == 1
        uses = [e["event_data"]["tool_use_id"] for e in events if e["event_type"] == "agent.tool_use"]
        assert len(uses) == len(set(uses))
    last = Counter(event["event_type"] for event in histories[-1])
    assert (last["agent.started"], last["agent.completed"], last["task.verified"]) == (1, 1, 1)
    # The last attempt resumes the conversation of the one before it.
    assert last["agent.tool_use"] == last["agent.tool_completed"] >= 1
    assert sum(event["event_type"] == "agent.tool_use" for events in histories for event in events) >= 3
    wait_for("every process and folder to be gone", lambda: not platform.processes() and not _folders(platform))
    return done


def _folders(platform: Platform) -> list[Path]:
    return list((platform.data_dir / "sandboxes").glob("omoios-*"))


@pytest.mark.parametrize("part", ["orchestrator", "gateway", "api"])
def test_a_part_may_be_killed_at_every_stage_of_one_task(platform: Platform, part: str) -> None:
    task_id = slow_task(platform, GATE)
    for stage in (assigned, started, in_a_tool, verifying):
        stage(platform, task_id)
        platform.kill_part(part)
    let_it_be_verified(platform, task_id)

    done = assert_sound(platform, task_id)

    # Only the death of who makes a sandbox, in the middle of making it, costs an attempt.
    assert done["attempt"] <= (2 if part == "orchestrator" else 1)


def test_an_orchestrator_killed_right_after_the_ticket_leaves_no_second_sandbox(platform: Platform) -> None:
    for _ in range(2):
        task_id = slow_task(platform)
        platform.kill_part("orchestrator")
        assert_sound(platform, task_id)


@pytest.mark.parametrize("stage", [started, in_a_tool], ids=["at its start", "in a tool"])
def test_a_killed_worker_costs_one_attempt_and_nothing_else(platform: Platform, stage: Stage) -> None:
    task_id = slow_task(platform)
    stage(platform, task_id)
    asyncio.run(_kill_worker(platform, platform.task(task_id)["sandbox_id"]))

    done = assert_sound(platform, task_id)

    assert done["attempt"] == 2
    lost = platform.sandboxes(task_id)[0]
    assert (lost["status"], lost["end_reason"]) == ("lost", "the worker was killed by signal 9")


@pytest.mark.parametrize("victim", ["worker", "keeper"])
def test_the_next_attempt_starts_from_the_uncommitted_work_of_a_killed_one(platform: Platform, victim: str) -> None:
    platform.script(
        "begin",
        """
        match: begin and be killed
        steps:
          - tool: Bash
            input:
              command: '[ -e started ] && echo resumed > result || { touch started; exec tail -f /dev/null; }'
              timeout: 600000
          - text: done
        """,
    )
    task_id = platform.ticket("Please begin and be killed", acceptance=["grep -q resumed result"])["id"]
    sandbox_id = platform.until(task_id, "running")["sandbox_id"]
    platform.event(sandbox_id, "agent.tool_use")
    wait_for("the work to begin", lambda: asyncio.run(_has_begun(platform, sandbox_id)))
    if victim == "worker":
        asyncio.run(_kill_worker(platform, sandbox_id))
    else:
        os.kill(_keeper(platform, sandbox_id), signal.SIGKILL)

    done = platform.finished(task_id)

    assert (done["status"], done["attempt"]) == ("completed", 2), platform.story(task_id)
    assert platform.sandboxes(task_id)[0]["status"] == "lost"


async def _has_begun(platform: Platform, sandbox_id: str) -> bool:
    provider = LocalProvider(platform.data_dir / "sandboxes")
    argv = ["/usr/bin/test", "-e", "/workspace/started"]
    return (await provider.exec(SandboxRef(sandbox_id), argv, timeout=timedelta(seconds=20))).exit_code == 0


def _keeper(platform: Platform, sandbox_id: str) -> int:
    """The supervisor that holds a sandbox."""
    state = json.loads((platform.data_dir / "sandboxes" / sandbox_id / "state.json").read_text())
    return int(state["supervisor"].split()[0])


async def _kill_worker(platform: Platform, sandbox_id: str) -> None:
    provider = LocalProvider(platform.data_dir / "sandboxes")
    # Its first event goes out before anything else is done, its process id is noted a moment later.
    script = f'until [ -s {PID_FILE} ]; do sleep 0.02; done; kill -9 "$(cat {PID_FILE})"'
    # The sandbox ends with its worker, so the command may not live to tell how it went.
    with contextlib.suppress(ProviderError):
        await provider.exec(SandboxRef(sandbox_id), ["/bin/sh", "-c", script], timeout=timedelta(seconds=10))


def test_the_database_may_be_killed_in_the_middle(platform: Platform) -> None:
    task_id = slow_task(platform)
    in_a_tool(platform, task_id)
    postmaster = int((platform.data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(_outside(postmaster, platform), signal.SIGKILL)

    done = assert_sound(platform, task_id)

    assert done["attempt"] == 1


def _outside(pid: int, platform: Platform) -> int:
    """The server's process id; it notes its own, which is the same in every namespace it may be in here."""
    assert b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes(), platform.log.read_text()[-2000:]
    return pid


def test_after_a_kill_of_everything_a_new_start_adopts_the_running_sandbox(
    make_platform: Callable[..., Platform],
) -> None:
    platform = make_platform()
    platform.start()
    task_id = slow_task(platform)
    in_a_tool(platform, task_id)
    platform.kill()

    platform.start()
    done = assert_sound(platform, task_id)

    assert done["attempt"] == 1


def test_a_stop_saves_the_work_and_the_next_start_finishes_it(make_platform: Callable[..., Platform]) -> None:
    platform = make_platform()
    platform.start()
    task_id = slow_task(platform)
    in_a_tool(platform, task_id)

    assert platform.stop() == 0
    assert not platform.processes()
    assert not _folders(platform)

    platform.start()
    done = assert_sound(platform, task_id)
    assert (done["attempt"], len(platform.sandboxes(task_id))) == (2, 2)
