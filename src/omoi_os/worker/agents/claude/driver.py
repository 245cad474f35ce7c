"""The agent child: drives the Claude Agent SDK and tells the reporter, over one socket, what happens."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import anyio.lowlevel

from omoi_os.protocol.events import Event, EventType
from omoi_os.worker.agents.claude.back_pressure import Brake
from omoi_os.worker.agents.claude.change_watch import Watch
from omoi_os.worker.agents.claude.full_outputs import whole_output
from omoi_os.worker.agents.claude.lazy_imports import absent
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
from omoi_os.worker.agents.claude.turns import Note, Turns
from omoi_os.worker.processes import kill_descendants
from omoi_os.worker.repository.changes import Changes, unseen

TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "Skill"]

#: One message of the CLI holds a whole file before and after an edit.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024


#: How much is kept of a reply that was not whole when the CLI ended.
PARTIAL_CHARACTERS = 16 * 1024

Hooks = dict[HookEvent, list[HookMatcher]]


def options(start: Mapping[str, Any], hooks: Hooks) -> ClaudeAgentOptions:
    """The SDK's options. Settings, hooks and servers that the repository brings are never loaded."""
    return ClaudeAgentOptions(
        tools=TOOLS,
        allowed_tools=TOOLS,
        permission_mode=start["permission_mode"],
        system_prompt={"type": "preset", "preset": "claude_code", "append": start["guidance"]},
        setting_sources=[],
        strict_mcp_config=True,
        plugins=[{"type": "local", "path": path} for path in start["plugins"]],
        verbatim_prompts=True,
        cwd=start["workspace"],
        model=start["model"],
        max_turns=start["max_turns"],
        max_budget_usd=start["max_budget_usd"],
        max_buffer_size=MAX_MESSAGE_BYTES,
        hooks=hooks,
        resume=start["resume"],
        include_partial_messages=True,
        stderr=lambda line: print(line, file=sys.stderr, flush=True),  # noqa: T201
    )


class Channel:
    """JSON lines to and from the reporter."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> dict[str, Any] | None:
        """The next order; None when the reporter is gone."""
        line = await self._reader.readline()
        return dict(json.loads(line)) if line else None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Tell the reporter."""
        self._writer.write(json.dumps(message, default=str).encode() + b"\n")
        await self._writer.drain()

    async def send_event(self, event: Event) -> None:
        """Tell the reporter about an event; it gives the number."""
        await self.send({"type": "event", "event_type": event.event_type, "event_data": event.event_data})


@asynccontextmanager
async def connected(chosen: ClaudeAgentOptions) -> AsyncIterator[ClaudeSDKClient]:
    """A client whose CLI runs."""
    client = ClaudeSDKClient(chosen)
    # The SDK would load it to pass the trace of its caller on. Here there is none, and the CLI would wait 70 ms.
    with absent("opentelemetry"):
        await client.connect()
    try:
        yield client
    finally:
        await client.disconnect()


class Partial:
    """The text of the reply that is being streamed, for the case that it never becomes whole."""

    def __init__(self) -> None:
        self.text = ""

    def follow(self, message: Message) -> None:
        """Add what a message brings; a whole one is told of elsewhere."""
        if isinstance(message, StreamEvent) and message.parent_tool_use_id is None:
            delta = message.event.get("delta")
            if isinstance(delta, dict) and delta.get("type") == "text_delta":
                self.text = (self.text + str(delta.get("text", "")))[-PARTIAL_CHARACTERS:]
        elif isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            self.text = ""


async def work(channel: Channel, start: Mapping[str, Any], partial: Partial) -> None:
    """One conversation, from the prompt to the reporter's order to end, or to its death."""
    turns = Turns(channel.send)
    conversation = Conversation(workspace=start["workspace"], resumed=start["resume"])
    changes = Changes(Path(start["workspace"]), Path(start["tree"]))
    watch = Watch(changes, conversation)
    brake = Brake(channel.send)
    beginning = asyncio.create_task(changes.begin())
    async with connected(options(start, brake.hooks() | _both(watch.hooks(), turns.hooks()))) as client:
        if (error := (await beginning).error) is not None:
            await channel.send_event(Event(EventType.AGENT_ERROR, unseen(error)))
        await turns.begin(client, start["prompt"])
        obeying = asyncio.create_task(_obey(channel, turns, brake))
        relaying = asyncio.create_task(_relay(channel, client, watch, turns=turns, partial=partial))
        try:
            await asyncio.wait({obeying, relaying}, return_when=asyncio.FIRST_COMPLETED)
            (relaying if relaying.done() else obeying).result()
        finally:
            obeying.cancel()
            relaying.cancel()
            await asyncio.gather(obeying, relaying, return_exceptions=True)


def _both(first: Hooks, second: Hooks) -> Hooks:
    """The hooks of both, in this order."""
    return {event: [*first.get(event, []), *second.get(event, [])] for event in {**first, **second}}


async def _relay(
    channel: Channel, client: ClaudeSDKClient, watch: Watch, *, turns: Turns, partial: Partial
) -> NoReturn:
    """Tell the reporter what happens, until the CLI ends, which is an error as long as nobody wanted it."""
    conversation = watch.conversation
    async for message in client.receive_messages():
        turns.follow(message)
        partial.follow(message)
        if isinstance(message, ResultMessage):
            for event in await watch.finish():
                await channel.send_event(event)
            await channel.send({**_result(message, conversation), **turns.end_turn()})
            await turns.go_on()
            continue
        if isinstance(message, UserMessage):
            await watch.settle(message)
            conversation.whole_output = whole_output(message.tool_use_result)
        for event in translate(message, conversation, now=time.monotonic()):
            await channel.send_event(event)
    raise CLIConnectionError("The agent's CLI ended without a result.")


async def _obey(channel: Channel, turns: Turns, brake: Brake) -> None:
    """Do what the reporter says until it says `end`; end this process at once when the reporter has died."""
    while (order := await channel.receive()) is not None:
        if order["op"] == "say":
            await turns.say(Note.from_order(order))
        elif order["op"] == "interrupt":
            await turns.interrupt()
        elif order["op"] == "release":
            brake.release(order["number"])
        elif order["op"] == "end":
            return
    # The reporter died. An interrupt, or the death of a tool, would become part of the conversation that the next
    # attempt resumes, so the CLI gets no time to record it.
    kill_descendants()
    os._exit(1)


def _result(message: ResultMessage, conversation: Conversation) -> dict[str, Any]:
    return {
        "type": "result",
        "is_error": message.is_error,
        "subtype": message.subtype,
        "result": message.result,
        "errors": message.errors or [],
        "cost_usd": message.total_cost_usd,
        "usage": message.usage or {},
        "session_id": message.session_id or conversation.session_id,
        "stop_reason": message.stop_reason,
        "terminal_reason": message.terminal_reason,
        "api_error_status": message.api_error_status,
        "permission_denials": len(message.permission_denials or []),
    }


def _failure(error: Exception, partial: Partial) -> dict[str, Any]:
    code = error.exit_code if isinstance(error, ProcessError) else None
    said = f"{type(error).__name__}: {error}"
    return {"type": "failure", "error": said, "exit_code": code, "partial_output": partial.text}


async def _run(connection: socket.socket) -> int:
    reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_MESSAGE_BYTES)
    channel = Channel(reader, writer)
    # The SDK's event loop library loads its other half at the first use.
    await anyio.lowlevel.checkpoint()
    await channel.send({"type": "ready"})
    start = await channel.receive()
    if start is None:
        return 0
    os.environ.clear()
    os.environ.update(start["environ"])
    partial = Partial()
    try:
        await work(channel, start, partial)
    except Exception as error:  # noqa: BLE001
        # Whatever the SDK raises, the reporter has to be told in words.
        await channel.send(_failure(error, partial))
        return 1
    finally:
        writer.close()
    return 0


def main() -> None:
    """Run with the number of the inherited socket as the only argument."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    os.chdir(os.environ["HOME"])
    sys.exit(asyncio.run(_run(connection)))
