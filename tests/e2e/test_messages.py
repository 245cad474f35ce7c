"""Messages to working agents, with real parts: when they arrive, what they change, and that none is lost."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from omoi_os.errors import ProviderError
from omoi_os.protocol.paths import PID_FILE
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.local.host.provider import LocalProvider
from tests.e2e.platform import Json, Platform, wait_for

#: Bash refuses a plain sleep.
BUSY = """
match: take %(seconds)d seconds
steps:
  - tool: Bash
    input: {command: 'echo started > started; python3 -c "import time; time.sleep(%(seconds)d)"', timeout: 600000}
  - tool: Bash
    input: {command: 'echo rest > rest'}
  - text: 'It was said: {{message}}'
"""


def busy_agent(platform: Platform, title: str, *, seconds: int) -> tuple[Json, str]:
    """A ticket's task whose agent is in a long command, and its sandbox."""
    platform.script(f"busy-{seconds}", BUSY % {"seconds": seconds})
    task = platform.ticket(f"{title}: take {seconds} seconds")
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]
    platform.event(sandbox_id, "agent.tool_use")
    return task, str(sandbox_id)


def say(platform: Platform, sandbox_id: str, content: str, **fields: str) -> str:
    return str(platform.post(f"/sandboxes/{sandbox_id}/messages", {"content": content, **fields})["message_id"])


def receipts(platform: Platform, sandbox_id: str, message_id: str) -> Json:
    """The message in its history, once it was seen."""

    def look() -> Json | None:
        items = platform.get(f"/sandboxes/{sandbox_id}/messages/history")["items"]
        (found,) = (item for item in items if item["message_id"] == message_id)
        return found if found["seen_at"] else None

    found = wait_for("the message to be seen", look)
    assert found["queued_at"] <= found["delivered_at"] <= found["seen_at"]
    return found


def moment(event: Json) -> datetime:
    return datetime.fromisoformat(event["occurred_at"])


def test_a_message_reaches_an_agent_in_a_long_command_at_its_next_tool_boundary(platform: Platform) -> None:
    task, sandbox_id = busy_agent(platform, "Listen", seconds=20)

    message_id = say(platform, sandbox_id, "mind the gap")
    done = platform.finished(task["id"])

    assert (done["status"], done["result"]["final_output"]) == ("completed", "It was said: mind the gap")
    receipts(platform, sandbox_id, message_id)
    events = platform.events(sandbox_id)
    types = [event["event_type"] for event in events]
    injected = events[types.index("agent.message_injected")]
    assert injected["event_data"]["message_id"] == message_id
    assert injected["event_data"]["sender"] == "user:admin@localhost"
    # Between the end of the first command and the call of the second.
    uses = [number for number, kind in enumerate(types) if kind == "agent.tool_use"]
    assert uses[0] < types.index("agent.message_injected") < uses[1]


def test_an_interrupt_stops_a_long_command_at_once_and_the_agent_goes_on_with_what_was_said(
    platform: Platform,
) -> None:
    task, sandbox_id = busy_agent(platform, "Be stopped", seconds=20)

    began = time.time()
    message_id = say(platform, sandbox_id, "leave it", message_type="interrupt")
    interrupted = platform.event(sandbox_id, "agent.interrupted")
    done = platform.finished(task["id"])

    took = moment(interrupted).timestamp() - began
    print(f"from before the POST to agent.interrupted: {took * 1000:.0f} ms")
    assert took < 5
    assert interrupted["event_data"]["message_id"] == message_id
    assert (done["status"], done["result"]["final_output"]) == ("completed", "It was said: leave it")
    receipts(platform, sandbox_id, message_id)
    killed, *_ = (e for e in platform.events(sandbox_id) if e["event_type"] == "agent.tool_completed")
    assert killed["event_data"]["is_error"]
    assert killed["event_data"]["duration_ms"] < 20_000


def test_messages_of_one_kind_keep_their_order_and_the_end_of_the_turn_comes_last(platform: Platform) -> None:
    task, sandbox_id = busy_agent(platform, "Listen to many", seconds=4)

    last = say(platform, sandbox_id, "three", deliver="end_of_turn")
    first = [say(platform, sandbox_id, text) for text in ("one", "two " + "x" * 12_000)]
    done = platform.finished(task["id"])

    assert done["result"]["final_output"] == "It was said: three"
    injected = [e["event_data"] for e in platform.events(sandbox_id) if e["event_type"] == "agent.message_injected"]
    assert [data["message_id"] for data in injected] == [*first, last]
    for message_id in [*first, last]:
        receipts(platform, sandbox_id, message_id)


def test_also_print_changes_what_the_demos_agent_commits(platform: Platform) -> None:
    project = platform.project()
    task = platform.ticket("Slow binomial to talk to", project_id=project, acceptance=["python3 binomial.py"])
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]

    message_id = say(platform, sandbox_id, "Please also print C(10,5).")
    done = platform.finished(task["id"])

    assert "C(10,5) = 252" in done["result"]["final_output"]
    assert "C(50,25) = 126410606437752" in done["result"]["final_output"]
    assert "binomial(10, 5)" in platform.git(project, "show", f"{done['branch_name']}:also.py")
    receipts(platform, sandbox_id, message_id)


def test_a_message_that_a_killed_worker_had_read_reaches_the_next_attempt(platform: Platform) -> None:
    task, first = busy_agent(platform, "Be killed", seconds=5)

    message_id = say(platform, first, "still there?")
    asyncio.run(_kill_worker(platform, first))
    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("completed", 2)
    assert done["result"]["final_output"] == "It was said: still there?"
    receipts(platform, platform.sandboxes(task["id"])[1]["id"], message_id)


#: The first command ends soon, so that a message is seen while the second one runs.
SEEN_THEN_BUSY = """
match: die after the message
steps:
  - tool: Bash
    input: {command: 'until test -e go; do python3 -c "import time; time.sleep(0.1)"; done', timeout: 600000}
  - tool: Bash
    input: {command: 'test -e again || python3 -c "import time; time.sleep(300)"', timeout: 600000}
  - tool: Bash
    input: {command: 'echo rest > rest'}
  - text: 'It was said: {{message}}'
"""
#: Make the conversation what it is when the agent dies before it has written the message down.
_FORGET = """
import os, pathlib, signal
for path in pathlib.Path('/home/agent').rglob('projects/*/*.jsonl'):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b''.join(line for line in lines if b'%(message_id)s' not in line))
pathlib.Path('/workspace/again').touch()
os.kill(int(pathlib.Path('%(pid_file)s').read_text()), signal.SIGKILL)
"""


def test_a_seen_message_that_the_saved_conversation_lacks_reaches_the_next_attempt_once(platform: Platform) -> None:
    platform.script("seen", SEEN_THEN_BUSY)
    task = platform.ticket("Listen, then die after the message")
    first = str(platform.until(task["id"], "running")["sandbox_id"])
    platform.event(first, "agent.tool_use")
    message_id = say(platform, first, "remember me")
    asyncio.run(_run_inside(platform, first, ["/bin/sh", "-c", "touch /workspace/go"]))
    receipts(platform, first, message_id)

    script = _FORGET % {"message_id": message_id, "pid_file": PID_FILE}
    asyncio.run(_run_inside(platform, first, ["/bin/sh", "-c", 'exec python3 -c "$0"', script]))
    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("completed", 2)
    assert done["result"]["final_output"] == "It was said: remember me"
    second = platform.sandboxes(task["id"])[1]["id"]
    assert receipts(platform, second, message_id)["redeliveries"] == 1
    injected = platform.get(f"/sandboxes/{second}/events", event_type="agent.message_injected")["items"]
    assert [event["event_data"]["message_id"] for event in injected] == [message_id]


async def _run_inside(platform: Platform, sandbox_id: str, argv: list[str]) -> None:
    provider = LocalProvider(platform.data_dir / "sandboxes")
    # The sandbox ends with its worker, so the command may not live to tell how it went.
    with contextlib.suppress(ProviderError):
        await provider.exec(SandboxRef(sandbox_id), argv, timeout=timedelta(seconds=30))


async def _kill_worker(platform: Platform, sandbox_id: str) -> None:
    provider = LocalProvider(platform.data_dir / "sandboxes")
    script = f'kill -9 "$(cat {PID_FILE})"'
    # The sandbox ends with its worker, so the command may not live to tell how it went.
    with contextlib.suppress(ProviderError):
        await provider.exec(SandboxRef(sandbox_id), ["/bin/sh", "-c", script], timeout=timedelta(seconds=10))


def test_a_follow_up_after_completion_is_done_in_the_same_session(make_platform: Callable[..., Platform]) -> None:
    platform = make_platform(OMOI_LINGER_SECONDS="3")
    platform.start()
    platform.script(
        "follow",
        """
        match: do it once
        steps:
          - tool: Bash
            input: {command: 'echo one > one'}
          - text: one is done
        on_message:
          - match: again
            steps:
              - tool: Bash
                input: {command: 'echo two > two'}
              - text: two is done
        """,
    )
    project = platform.project()
    ordered = platform.post("/sandboxes", {"project_id": project, "prompt": "Please do it once"})
    done = platform.finished(ordered["task_id"])
    sandbox_id = done["sandbox_id"]
    waiting = platform.event(sandbox_id, "agent.waiting")["event_data"]

    message_id = say(platform, sandbox_id, "once again, please")
    receipts(platform, sandbox_id, message_id)
    terminated = platform.event(sandbox_id, "sandbox.terminated")

    assert (done["status"], done["result"]["final_output"]) == ("completed", "one is done")
    assert waiting["linger_seconds"] == 3
    events = platform.events(sandbox_id)
    completed = [event["event_data"] for event in events if event["event_type"] == "agent.completed"]
    assert [data["final_output"] for data in completed] == ["one is done", "two is done"]
    assert completed[0]["session_id"] == completed[1]["session_id"]
    assert [data["branch_name"] for data in completed] == [done["branch_name"], f"wip/{done['id']}"]
    assert platform.git(project, "show", f"wip/{done['id']}:two") == "two"
    assert platform.git(project, "rev-parse", done["branch_name"]) == done["result"]["commit_sha"]
    assert platform.task(ordered["task_id"])["status"] == "completed"
    assert terminated["event_data"]["reason"] == "its work is done"
    assert platform.stop() == 0


def test_an_api_that_is_away_for_a_while_costs_neither_events_nor_messages(platform: Platform) -> None:
    task, sandbox_id = busy_agent(platform, "Outlive the API", seconds=4)
    message_id = say(platform, sandbox_id, "hold on")

    until = time.monotonic() + 5
    while time.monotonic() < until:
        platform.kill_part("api")
    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("completed", 1)
    assert done["result"]["final_output"] == "It was said: hold on"
    receipts(platform, sandbox_id, message_id)
    events = platform.events(sandbox_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    told = [moment(event) for event in events if event["source"] != "system" and event["occurred_at"]]
    assert told == sorted(told)
    types = [event["event_type"] for event in events]
    assert types.count("agent.tool_use") == types.count("agent.tool_completed") == 2
    assert (types.count("agent.message_injected"), types.count("agent.completed")) == (1, 1)
