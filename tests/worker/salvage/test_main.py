"""Salvage, run as `exec` would run it: nothing in a sandbox is lost with its worker."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from omoi_os.protocol.events import Event
from omoi_os.protocol.paths import GATEWAY_PORT
from omoi_os.protocol.spool import read_frames
from omoi_os.worker.command import salvage_argv
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.spool import Spool
from omoi_os.worker.repository.git import Repository
from tests.worker.conftest import TASK_ID, Worker, git
from tests.worker.platform import HANG, TOKEN, WRITE, Platform

SESSION = "5c7f3d52-0000-4000-8000-000000000001"
ENDINGS = {"agent.completed", "agent.failed", "agent.shutdown"}


async def leave_behind(worker: Worker) -> None:
    """Create what a killed worker leaves: a checkout with changes, a spool with a blob, a transcript."""
    worker.home.mkdir()
    await Repository(worker.paths, worker.assignment, TOKEN, dict(os.environ)).check_out()
    (worker.workspace / "half.py").write_text("half\n")
    (worker.workspace / ".git" / "index.lock").touch()
    spool = Spool(worker.paths.spool)
    for number in range(1, 251):
        spool.append(Event("agent.message", {"text": f"said {number}"}, event_id=f"e{number}"))
    digest = Blobs(worker.paths.blobs).keep(b"large")
    spool.append(Event("agent.message", {"text": "cut", "text_blob": digest}, event_id="blob"))
    spool.close()
    with worker.paths.spool.open("ab") as torn:
        torn.write(b"torn tail")
    session = worker.home / ".claude" / "projects" / "-workspace" / f"{SESSION}.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text('{"type": "user"}\n')


async def test_a_killed_worker_loses_nothing_and_the_next_attempt_continues(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    platform.steps = [WRITE, HANG]
    process = await worker.start()
    await platform.wait_for(lambda: any(b"toolu_1" in text for text in platform.transcripts.values()))
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)
    (session_id,) = platform.transcripts
    platform.events.clear()
    process.kill()
    await worker.end()
    platform.transcripts.clear()
    code, found = await worker.salvage()

    assert (code, found["problems"], found["stopped_worker"]) == (0, [], False)
    spooled = read_frames(worker.paths.spool.read_bytes())
    assert [event["event_type"] for event in platform.events] == [event.event_type for event in spooled]
    assert [event.event_type for event in spooled if event.event_type in ENDINGS] == ["agent.shutdown"]
    ending = platform.events[-1]["event_data"]
    assert (ending["reason"], ending["session_id"]) == ("salvaged", session_id)
    assert "+++ b/binomial.py" in ending["session_diff"]
    assert (found["events"], found["events_left"]) == (len(spooled), 0)
    assert found["session_id"] == session_id
    assert b"toolu_1" in platform.transcripts[session_id]
    assert found["wip_commit"] == git(repository, "rev-parse", f"wip/{TASK_ID}")
    assert "binomial" in git(repository, "show", f"wip/{TASK_ID}:binomial.py")
    assert await worker.salvage() == (0, found)


async def test_a_sandbox_with_nothing_but_its_files_and_a_gateway_socket_is_enough(
    worker: Worker, platform: Platform, root: Path, repository: Path
) -> None:
    await leave_behind(worker)
    (root / "gateway_socket").mkdir()
    platform.socket = root / "gateway_socket" / "gateway.sock"
    await platform.stop()
    await platform.start()
    worker.behind_gateway = True
    variables = worker.environ(git_url=f"http://127.0.0.1:{GATEWAY_PORT}/git/{repository.name}")
    old = {"PATH": "/usr/bin:/bin", **worker.environ(), "ANTHROPIC_AUTH_TOKEN": "sbx_old"}
    code, out, said = await worker.run(salvage_argv(), old, stdin=json.dumps(variables).encode())

    assert (code, said) == (0, "")
    found = json.loads(out)
    assert (found["events"], found["events_left"], found["transcript_saved"]) == (252, 0, True)
    *before, ending = platform.events
    assert [event["event_id"] for event in before] == [*(f"e{number}" for number in range(1, 251)), "blob"]
    assert "+++ b/half.py" in ending["event_data"]["session_diff"]
    assert list(platform.blobs.values()) == [b"large"]
    assert git(repository, "show", f"wip/{TASK_ID}:half.py") == "half"


async def test_a_worker_that_still_runs_saves_by_itself_first(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    platform.steps = [WRITE, HANG]
    await worker.start()
    await platform.wait_for(lambda: len(platform.of_type("agent.tool_use")) == 2)
    code, found = await worker.salvage()

    assert (code, found["problems"], found["stopped_worker"]) == (0, [], True)
    assert (await worker.end())[0] == 143
    shutdown = platform.events[-1]
    assert shutdown["event_type"] == "agent.shutdown"
    assert shutdown["event_data"]["wip_commit"] == found["wip_commit"] == git(repository, "rev-parse", f"wip/{TASK_ID}")


@pytest.mark.parametrize("left", ["nothing", "half a clone"])
async def test_a_checkout_that_was_never_whole_is_not_taken_for_work(
    worker: Worker, repository: Path, left: str
) -> None:
    worker.home.mkdir()
    if left == "half a clone":
        git(worker.root, "clone", "--quiet", "--no-checkout", str(repository), str(worker.workspace))
        (worker.workspace / "README.md").write_text("# De")
    code, found = await worker.salvage()

    assert (code, found["wip_commit"], found["events"], found["session_id"]) == (0, None, 0, None)
    assert git(repository, "branch", "--list", "wip/*") == ""


async def test_an_ended_attempt_is_told_as_superseded(worker: Worker, platform: Platform) -> None:
    await leave_behind(worker)
    platform.batch_status = 409
    code, found = await worker.salvage()

    assert (code, found["superseded"], found["events_left"]) == (1, True, 252)
    assert "the events" in found["problems"][0]
    assert found["transcript_saved"] is True


async def test_sigterm_ends_it_at_once_and_it_tells_what_is_safe(worker: Worker, platform: Platform) -> None:
    await leave_behind(worker)
    platform.batch_status = 503
    process = await asyncio.create_subprocess_exec(
        *salvage_argv(), env=worker.environ(), stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    await platform.wait_for(lambda: platform.refused >= 2 and platform.transcript_puts >= 1)
    process.terminate()
    async with asyncio.timeout(10):
        out, _ = await process.communicate()

    found = json.loads(out)
    assert (process.returncode, found["events_left"], found["transcript_saved"]) == (1, 252, True)
    assert "SIGTERM" in found["problems"][-1]
    assert not [path for path in worker.paths.private.iterdir() if path.name.startswith("index.")]


async def test_without_any_variables_it_says_what_is_missing(worker: Worker) -> None:
    for stdin, problem in ((b"", "SANDBOX_ID is not set"), (b"{}", "SANDBOX_ID is not set"), (b"{", "not JSON")):
        code, out, said = await worker.run(salvage_argv(), {"HOME": str(worker.home)}, stdin=stdin)
        assert (code, json.loads(out)["problems"]) == (1, [said.strip()])
        assert problem in said
