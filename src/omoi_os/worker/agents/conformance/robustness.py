"""Robustness: back-pressure, errors of the model, and an unreliable other side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select

from omoi_os.protocol.agent import End, Ready, ReleaseTool, Started, ToolHeld, TurnEnded, TurnProblem
from omoi_os.worker.agents.conformance.bench import PATIENCE_SECONDS, Bench, Check, demand
from omoi_os.worker.agents.conformance.model import Refuse, Reply, RunCommand
from omoi_os.worker.processes import tree

NONSENSE = (b"nonsense\n", b"[]\n", b"\xff\xfe\n", b'{"type": "dance"}\n', b'{"type": "say"}\n', b"\n")


async def back_pressure_holds_a_tool(bench: Bench) -> None:
    """A tool does not run before the reporter releases it."""
    bench.holds_tools = True
    marker = bench.paths.home / "ran"
    bench.model.play(RunCommand(f"touch {marker}"), Reply("Done."))
    await bench.start()
    held = await bench.wait_for(ToolHeld)

    demand(await bench.stays_quiet(TurnEnded), "the turn ended although its tool was held")
    await bench.send(ReleaseTool(held.number + 1000))
    demand(await bench.stays_quiet(TurnEnded), "the number of another call released the tool")
    demand(not marker.exists(), "the tool ran before it was released")
    await bench.send(ReleaseTool(held.number))
    await bench.wait_for(TurnEnded)
    demand(marker.exists(), "the tool did not run after it was released")


async def an_error_of_the_model_is_reported_with_its_sentence(bench: Bench) -> None:
    """A refusal of the model ends the turn with its status and its own sentence; the driver stays usable."""
    bench.model.play(Refuse(400, "No script covers this task."))
    await bench.start()
    turn = await bench.wait_for(TurnEnded)

    if turn.error is None:
        demand(False, "the turn has no error")
    else:
        demand(turn.error.problem == TurnProblem.MODEL, f"the problem is {turn.error.problem}")
        demand(turn.error.status == 400, f"the status is {turn.error.status}")
        demand(turn.error.message == "No script covers this task.", f"the sentence is {turn.error.message!r}")
    await bench.send(End())
    await bench.wait_for_exit()


async def nonsense_on_the_channel_is_ignored(bench: Bench) -> None:
    """Lines that are not orders are skipped, before the start and during a conversation."""
    await bench.wait_for(Ready)
    for line in NONSENSE:
        await bench.driver.send_line(line)
    bench.model.play(RunCommand("echo fine"), Reply("Done."))
    await bench.start()
    await bench.wait_for_event("agent.tool_use")
    for line in NONSENSE:
        await bench.driver.send_line(line)
    turn = await bench.wait_for(TurnEnded)

    demand(turn.error is None and turn.final_output == "Done.", f"the turn was disturbed: {turn}")


async def a_driver_that_is_never_started_exits_with_its_channel(bench: Bench) -> None:
    """`End` before `Start` makes the driver exit: a warm sandbox may never get a task."""
    await bench.wait_for(Ready)
    await bench.send(End())
    code = await bench.wait_for_exit()

    demand(code == 0, f"the driver exited with {code}")


async def the_death_of_the_reporter_ends_it_at_once(bench: Bench) -> None:
    """Without a reporter the driver exits with everything it started, and the transcript says nothing about it."""
    gate = bench.gate()
    bench.model.play(RunCommand(gate.command), Reply("Done."))
    await bench.start()
    await bench.wait_for_event("agent.tool_use")
    session_id = (await bench.wait_for(Started)).session_id
    started = _Processes(bench.driver.processes.pid)
    await bench.lose_reporter()
    await bench.wait_for_exit()

    demand(await started.have_ended(), "processes of the agent still run")
    demand(not gate.is_read, "the command still runs")
    transcript = bench.agent.find_transcript(bench.paths, session_id)
    text = transcript.read_text(errors="replace").lower() if transcript else ""
    demand("interrupt" not in text, "the transcript says that someone interrupted the agent")


async def nothing_is_left_behind(bench: Bench) -> None:
    """After `End` no process of the agent runs any more."""
    bench.model.play(RunCommand("true"), Reply("Done."))
    await bench.start()
    await bench.wait_for(TurnEnded)
    started = _Processes(bench.driver.processes.pid)
    await bench.send(End())
    await bench.wait_for_exit()

    demand(await started.have_ended(), "processes of the agent still run")


class _Processes:
    """A process and its descendants, held by handles so that a reused process id is not mistaken for one of them."""

    def __init__(self, root: int) -> None:
        self._handles: list[int] = []
        for pid in tree(root):
            with contextlib.suppress(ProcessLookupError):
                self._handles.append(os.pidfd_open(pid))

    async def have_ended(self) -> bool:
        """Return whether all have ended. A process that was killed takes a moment to end."""
        return await asyncio.to_thread(self._wait)

    def _wait(self) -> bool:
        try:
            return all(_ends(handle) for handle in self._handles)
        finally:
            for handle in self._handles:
                os.close(handle)


def _ends(handle: int) -> bool:
    ended = select.poll()
    ended.register(handle, select.POLLIN)
    return bool(ended.poll(PATIENCE_SECONDS * 1000))


CHECKS: tuple[Check, ...] = (
    back_pressure_holds_a_tool,
    an_error_of_the_model_is_reported_with_its_sentence,
    nonsense_on_the_channel_is_ignored,
    a_driver_that_is_never_started_exits_with_its_channel,
    the_death_of_the_reporter_ends_it_at_once,
    nothing_is_left_behind,
)
