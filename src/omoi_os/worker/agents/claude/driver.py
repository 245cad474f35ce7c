"""The agent driver for Claude: runs the Claude Agent SDK and reports to the reporter over one socket."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import anyio.lowlevel

from omoi_os.protocol.agent import End, Failed, Interrupt, Ready, ReleaseTool, Say, Start, Started
from omoi_os.protocol.events import Event, EventType
from omoi_os.worker.agents.channel import Channel
from omoi_os.worker.agents.claude.back_pressure import ToolGate
from omoi_os.worker.agents.claude.change_watch import ChangeWatch
from omoi_os.worker.agents.claude.environment import create_folders
from omoi_os.worker.agents.claude.full_outputs import full_output
from omoi_os.worker.agents.claude.message_injection import Turns
from omoi_os.worker.agents.claude.results import turn_ended
from omoi_os.worker.agents.claude.sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    CLIConnectionError,
    HookEvent,
    HookMatcher,
    Message,
    ProcessError,
    ResultMessage,
    StreamEvent,
    UserMessage,
)
from omoi_os.worker.agents.claude.translation import Conversation, translate
from omoi_os.worker.processes import kill_descendants
from omoi_os.worker.repository.changes import Changes, missing_changes

TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "Skill"]

#: One message of the CLI holds a whole file before and after an edit.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024

#: How much of a reply is kept that was not complete when the CLI ended.
PARTIAL_CHARACTERS = 16 * 1024

Hooks = dict[HookEvent, list[HookMatcher]]


def options(start: Start, hooks: Hooks) -> ClaudeAgentOptions:
    """Return the SDK's options. Settings, hooks and MCP servers of the repository are never loaded."""
    return ClaudeAgentOptions(
        tools=TOOLS,
        allowed_tools=TOOLS,
        permission_mode=start.permission_mode,  # type: ignore[arg-type]
        system_prompt={"type": "preset", "preset": "claude_code", "append": start.guidance},
        setting_sources=[],
        strict_mcp_config=True,
        plugins=[{"type": "local", "path": path} for path in start.skills],
        verbatim_prompts=True,
        cwd=start.workspace,
        model=start.model,
        max_turns=start.max_turns,
        max_budget_usd=start.max_budget_usd,
        max_buffer_size=MAX_MESSAGE_BYTES,
        hooks=hooks,
        resume=start.resume,
        include_partial_messages=True,
        stderr=lambda line: print(line, file=sys.stderr, flush=True),  # noqa: T201
    )


@asynccontextmanager
async def connected(chosen: ClaudeAgentOptions) -> AsyncIterator[ClaudeSDKClient]:
    """Run a CLI and yield its client."""
    client = ClaudeSDKClient(chosen)
    await client.connect()
    try:
        yield client
    finally:
        await client.disconnect()


class PartialReply:
    """The text of the reply that is being streamed, in case it is never completed."""

    def __init__(self) -> None:
        self.text = ""

    def follow(self, message: Message) -> None:
        """Add streamed text; a complete reply clears it, because it is reported as an event."""
        if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
            delta = message.event.get("delta")
            if isinstance(delta, dict) and delta.get("type") == "text_delta":
                self.text = (self.text + str(delta.get("text", "")))[-PARTIAL_CHARACTERS:]
        elif isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            self.text = ""


async def converse(channel: Channel, start: Start, partial: PartialReply) -> None:
    """Run one conversation until `End`. Raises what the SDK raises."""
    turns = Turns(channel.send)
    conversation = Conversation(workspace=start.workspace, resumed=start.resume)
    changes = Changes(Path(start.workspace), Path(start.snapshots))
    watch = ChangeWatch(changes, conversation)
    gate = ToolGate(channel.send)
    taking_snapshot = asyncio.create_task(changes.begin())
    async with connected(options(start, gate.hooks() | _merged(watch.hooks(), turns.hooks()))) as client:
        if (error := (await taking_snapshot).error) is not None:
            await channel.send_event(Event(EventType.AGENT_ERROR, missing_changes(error)))
        await turns.begin(client, start.prompt)
        obeying = asyncio.create_task(_obey(channel, turns, gate))
        relaying = asyncio.create_task(_relay(channel, client, watch, turns=turns, partial=partial))
        try:
            await asyncio.wait({obeying, relaying}, return_when=asyncio.FIRST_COMPLETED)
            (relaying if relaying.done() else obeying).result()
        finally:
            obeying.cancel()
            relaying.cancel()
            await asyncio.gather(obeying, relaying, return_exceptions=True)


def _merged(first: Hooks, second: Hooks) -> Hooks:
    """Return the hooks of both; those of `first` run first."""
    return {event: [*first.get(event, []), *second.get(event, [])] for event in {**first, **second}}


async def _relay(
    channel: Channel, client: ClaudeSDKClient, watch: ChangeWatch, *, turns: Turns, partial: PartialReply
) -> NoReturn:
    """Report what happens until the CLI ends, which is an error unless `End` was received."""
    conversation = watch.conversation
    session_id = None
    async for message in client.receive_messages():
        turns.follow(message)
        partial.follow(message)
        if isinstance(message, ResultMessage):
            for event in await watch.finish():
                await channel.send_event(event)
            interrupted, pending = turns.end_turn()
            await channel.send(turn_ended(message, conversation, interrupted=interrupted, pending=pending))
            await turns.begin_next()
            continue
        if isinstance(message, UserMessage):
            await watch.settle(message)
            conversation.full_output = full_output(message.tool_use_result)
        events = translate(message, conversation, now=time.monotonic())
        if conversation.session_id is not None and conversation.session_id != session_id:
            session_id = conversation.session_id
            await channel.send(Started(session_id))
        for event in events:
            await channel.send_event(event)
    raise CLIConnectionError("The agent's CLI ended without a result.")


async def _obey(channel: Channel, turns: Turns, gate: ToolGate) -> None:
    """Carry out orders until `End`. Exit this process at once if the reporter dies."""
    while (order := await channel.receive()) is not None:
        match order:
            case Say():
                await turns.say(order)
            case Interrupt():
                await turns.interrupt()
            case ReleaseTool():
                gate.release(order.number)
            case End():
                return
    # The reporter died. An interrupt, or the death of a tool, would become part of the conversation that the next
    # attempt resumes, so the CLI gets no time to record it.
    kill_descendants()
    os._exit(1)


def _failed(error: Exception, partial: PartialReply) -> Failed:
    code = error.exit_code if isinstance(error, ProcessError) else None
    return Failed(f"{type(error).__name__}: {error}", code, partial.text)


async def _run(connection: socket.socket) -> int:
    channel = await Channel.open(connection)
    # The SDK's event loop library loads its second half at the first use.
    await anyio.lowlevel.checkpoint()
    await channel.send(Ready())
    start = await channel.receive()
    if not isinstance(start, Start):
        return 0
    os.environ.clear()
    os.environ.update(start.environ)
    partial = PartialReply()
    try:
        await converse(channel, start, partial)
    except Exception as error:  # noqa: BLE001
        # Whatever the SDK raises, the reporter needs it as a message.
        await channel.send(_failed(error, partial))
        return 1
    finally:
        channel.close()
    return 0


def main() -> None:
    """Run with the number of the inherited socket as the only argument."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    home = Path(os.environ["HOME"])
    create_folders(home)
    os.chdir(home)
    sys.exit(asyncio.run(_run(connection)))
