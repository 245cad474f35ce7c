"""Messages: when a text reaches the agent, and how a turn is stopped."""

from __future__ import annotations

from omoi_os.protocol.agent import Delivered, Interrupt, Interrupted, Say, TurnEnded
from omoi_os.protocol.messages import Deliver
from omoi_os.worker.agents.conformance.bench import Bench, Check, Gate, demand
from omoi_os.worker.agents.conformance.model import Reply, RunCommand

MESSAGE = "0190b2c4-0000-7000-8000-000000000001"


async def _in_a_tool(bench: Bench) -> Gate:
    """Start a turn and wait until its command runs."""
    gate = bench.gate()
    bench.model.play(RunCommand(gate.command), Reply("Done."))
    await bench.start()
    await bench.wait_for_event("agent.tool_use")
    return gate


async def a_message_reaches_the_model_at_the_next_tool_boundary(bench: Bench) -> None:
    """A message that comes while a tool runs is in the model's next request, in the same turn."""
    gate = await _in_a_tool(bench)
    await bench.send(Say("Use TABS.", Deliver.NEXT_TOOL, MESSAGE))
    await gate.open()
    turn = await bench.wait_for(TurnEnded)

    delivered = [report.message_id for report in bench.of(Delivered)]
    demand(delivered == [MESSAGE], f"the delivery was reported as {delivered}")
    demand("Use TABS." not in bench.model.requests[0], "the message came before the tool")
    demand("Use TABS." in bench.model.requests[1], "the message is not in the request after the tool")
    demand(turn.pending == 0, "the message started another turn")


async def a_long_message_reaches_the_model_whole(bench: Bench) -> None:
    """A message of any length reaches the model whole."""
    text = "x" * 30_000
    gate = await _in_a_tool(bench)
    await bench.send(Say(text, Deliver.NEXT_TOOL, MESSAGE))
    await gate.open()
    await bench.wait_for(TurnEnded)

    demand(text in bench.model.requests[-1], "the message did not reach the model whole")


async def a_message_for_the_end_of_the_turn_starts_the_next(bench: Bench) -> None:
    """A message for the end of the turn waits for it, and then starts another by itself."""
    gate = await _in_a_tool(bench)
    await bench.send(Say("And now lunch.", Deliver.END_OF_TURN, MESSAGE))
    await gate.open()
    first = await bench.wait_for(TurnEnded)
    second = await bench.wait_for(TurnEnded, count=2)

    demand(first.pending == 1, f"the first turn ended with {first.pending} pending")
    demand(second.pending == 0, f"the second turn ended with {second.pending} pending")
    asked = ["And now lunch." in request for request in bench.model.requests]
    demand(asked == [False, False, True], f"the message was in these requests: {asked}")


async def an_idle_agent_starts_a_turn_for_a_message(bench: Bench) -> None:
    """Between turns a message of any kind starts one at once."""
    bench.model.play(Reply("Done."))
    await bench.start()
    await bench.wait_for(TurnEnded)
    await bench.send(Say("One more thing.", Deliver.NEXT_TOOL, MESSAGE))
    await bench.wait_for(TurnEnded, count=2)

    demand([report.message_id for report in bench.of(Delivered)] == [MESSAGE], "the delivery was not reported")
    demand("One more thing." in bench.model.requests[-1], "the message did not reach the model")


async def an_interrupt_stops_the_tool_and_the_turn(bench: Bench) -> None:
    """An interrupt kills the running command and ends the turn; the agent can then go on."""
    gate = await _in_a_tool(bench)
    await bench.send(Interrupt())
    await bench.wait_for(Interrupted)
    turn = await bench.wait_for(TurnEnded)

    demand(turn.interrupted, "the turn is not reported as interrupted")
    demand(not gate.is_read, "the command still runs")
    await bench.send(Say("Go on."))
    again = await bench.wait_for(TurnEnded, count=2)
    demand(again.error is None and not again.interrupted, f"the agent did not continue: {again}")


async def a_message_for_now_interrupts_and_is_read(bench: Bench) -> None:
    """A message to be delivered now stops the turn and starts the next one."""
    gate = await _in_a_tool(bench)
    await bench.send(Say("Leave it.", Deliver.NOW, MESSAGE))
    interrupted = await bench.wait_for(Interrupted)
    first = await bench.wait_for(TurnEnded)
    await bench.wait_for(TurnEnded, count=2)

    demand(interrupted.message_id == MESSAGE, "the interrupt does not name its message")
    demand(first.interrupted and first.pending == 1, f"the turn was not stopped for the message: {first}")
    demand(not gate.is_read, "the command still runs")
    demand("Leave it." in bench.model.requests[-1], "the message did not reach the model")


async def a_bare_stop_says_nothing(bench: Bench) -> None:
    """A bare stop ends the turn, is reported as delivered, and starts no other."""
    await _in_a_tool(bench)
    await bench.send(Say("STOP-WORD", Deliver.NOW, MESSAGE, only_stop=True))
    turn = await bench.wait_for(TurnEnded)

    demand(turn.interrupted and turn.pending == 0, f"the turn did not just stop: {turn}")
    demand([report.message_id for report in bench.of(Delivered)] == [MESSAGE], "the delivery was not reported")
    demand(await bench.stays_quiet(TurnEnded), "another turn was started")
    demand(not any("STOP-WORD" in request for request in bench.model.requests), "the text reached the model")


CHECKS: tuple[Check, ...] = (
    a_message_reaches_the_model_at_the_next_tool_boundary,
    a_long_message_reaches_the_model_whole,
    a_message_for_the_end_of_the_turn_starts_the_next,
    an_idle_agent_starts_a_turn_for_a_message,
    an_interrupt_stops_the_tool_and_the_turn,
    a_message_for_now_interrupts_and_is_read,
    a_bare_stop_says_nothing,
)
