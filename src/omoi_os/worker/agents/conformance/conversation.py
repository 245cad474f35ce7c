"""Conversations: a driver starts, reports a turn with its tools and its end, and exits when asked."""

from __future__ import annotations

from omoi_os.protocol.agent import End, Ready, Started, TurnEnded
from omoi_os.worker.agents.conformance.bench import Bench, Check, demand
from omoi_os.worker.agents.conformance.model import Reply, RunCommand
from omoi_os.worker.startup.driver_start import MARK_NAME


async def is_ready_before_it_has_a_task(bench: Bench) -> None:
    """A driver loads and reports `Ready` without knowing anything about a task, so that it can wait for one."""
    await bench.wait_for(Ready)
    demand(len(bench.reports) == 1, f"more than Ready was reported before Start: {bench.reports}")
    demand(not bench.model.requests, "the model was called before Start")


async def a_turn_reports_its_session_its_tools_and_its_end(bench: Bench) -> None:
    """A turn reports its session, each tool call with its output, the agent's text, and what it used."""
    bench.model.play(RunCommand("echo one-two-three"), Reply("All done."))
    await bench.start("Count to three.")
    turn = await bench.wait_for(TurnEnded)

    demand(bench.of(Started), "no session was reported")
    (used,) = bench.events("agent.tool_use")
    (completed,) = bench.events("agent.tool_completed")
    demand("one-two-three" in str(used.get("input")), f"the tool's input is missing: {used}")
    demand(used.get("tool_use_id") == completed.get("tool_use_id"), "the call and its result have different ids")
    demand("one-two-three" in str(completed.get("output")), f"the tool's output is missing: {completed}")
    demand(completed.get("is_error") is False, f"the tool's success was not reported: {completed}")
    demand("All done." in [event.get("text") for event in bench.events("agent.message")], "the text is missing")
    demand(turn.error is None, f"the turn has an error: {turn.error}")
    demand(turn.final_output == "All done.", f"the final output is {turn.final_output!r}")
    demand(not turn.interrupted and turn.pending == 0, f"the turn did not end by itself: {turn}")
    demand(turn.session_id == bench.of(Started)[-1].session_id, "the turn has another session than was reported")
    demand(turn.usage.output_tokens > 0, f"no tokens were counted: {turn.usage}")
    demand("Count to three." in bench.model.requests[0], "the prompt did not reach the model")


async def every_event_carries_its_turn(bench: Bench) -> None:
    """Events carry the number of the model's reply that they belong to."""
    bench.model.play(RunCommand("true"), Reply("Done."))
    await bench.start()
    await bench.wait_for(TurnEnded)

    (used,) = bench.events("agent.tool_use")
    demand(used.get("turn") == 1, f"the first tool call has turn {used.get('turn')}")
    demand(bench.events("agent.message")[-1].get("turn") == 2, "the last text is not in the second turn")


async def files_that_a_tool_changes_are_reported(bench: Bench) -> None:
    """A file that a shell command writes in the workspace is reported with its diff."""
    bench.model.play(RunCommand("echo hello > new.txt"), Reply("Done."))
    await bench.start()
    await bench.wait_for(TurnEnded)

    edits = {edit.get("file_path"): edit for edit in bench.events("agent.file_edited")}
    demand("new.txt" in edits, f"the new file was not reported: {sorted(map(str, edits))}")
    edit = edits["new.txt"]
    demand(edit.get("change_type") == "created", f"the change is {edit.get('change_type')!r}")
    demand("+hello" in str(edit.get("full_diff")), "the diff is missing")


async def tools_run_in_the_workspace_with_the_given_environment(bench: Bench) -> None:
    """Tools run in the workspace, and carry the mark by which the reporter finds the agent's processes."""
    bench.model.play(RunCommand(f'echo "$PWD|${MARK_NAME}|$HOME"'), Reply("Done."))
    await bench.start()
    await bench.wait_for(TurnEnded)

    (completed,) = bench.events("agent.tool_completed")
    folder, mark, home = str(completed.get("output")).strip().split("|")
    demand(folder == str(bench.paths.workspace), f"the tool ran in {folder}")
    demand(mark == bench.driver.mark, "the tool's process does not carry the mark")
    demand(home == str(bench.paths.home), f"the tool's home is {home}")


async def end_ends_it(bench: Bench) -> None:
    """After `End` the driver exits with 0."""
    bench.model.play(Reply("Done."))
    await bench.start()
    await bench.wait_for(TurnEnded)
    await bench.send(End())
    code = await bench.wait_for_exit()

    demand(code == 0, f"the driver exited with {code}")


CHECKS: tuple[Check, ...] = (
    is_ready_before_it_has_a_task,
    a_turn_reports_its_session_its_tools_and_its_end,
    every_event_carries_its_turn,
    files_that_a_tool_changes_are_reported,
    tools_run_in_the_workspace_with_the_given_environment,
    end_ends_it,
)
