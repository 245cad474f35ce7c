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
from typing import Any

import anyio.lowlevel

from omoi_os.protocol.events import Event, EventType
from omoi_os.worker.changes import Changes, unseen
from omoi_os.worker.deferred import absent
from omoi_os.worker.sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    CLIConnectionError,
    HookEvent,
    HookMatcher,
    ProcessError,
    ResultMessage,
    UserMessage,
)
from omoi_os.worker.translate import Conversation, translate
from omoi_os.worker.watch import Watch

TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "Skill"]

#: One message of the CLI holds a whole file before and after an edit.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024


def options(start: Mapping[str, Any], *, hooks: dict[HookEvent, list[HookMatcher]]) -> ClaudeAgentOptions:
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


async def work(channel: Channel, start: Mapping[str, Any]) -> None:
    """One conversation, from the prompt to its result."""
    conversation = Conversation(workspace=start["workspace"], resumed=start["resume"])
    changes = Changes(Path(start["workspace"]), Path(start["tree"]))
    watch = Watch(changes, conversation)
    beginning = asyncio.create_task(changes.begin())
    async with connected(options(start, hooks=watch.hooks())) as client:
        if (error := (await beginning).error) is not None:
            await channel.send_event(Event(EventType.AGENT_ERROR, unseen(error)))
        await client.query(start["prompt"])
        orders = asyncio.create_task(_obey(channel, client))
        try:
            async for message in client.receive_messages():
                if isinstance(message, ResultMessage):
                    for event in await watch.finish():
                        await channel.send_event(event)
                    await channel.send(_result(message, conversation))
                    return
                if isinstance(message, UserMessage):
                    await watch.settle(message)
                for event in translate(message, conversation, now=time.monotonic()):
                    await channel.send_event(event)
        finally:
            orders.cancel()
    raise CLIConnectionError("The agent's CLI ended without a result.")


async def _obey(channel: Channel, client: ClaudeSDKClient) -> None:
    """Interrupt the agent when told so, or when the reporter is gone."""
    while True:
        order = await channel.receive()
        if order is None or order.get("op") == "interrupt":
            await client.interrupt()
        if order is None:
            return


def _result(message: ResultMessage, conversation: Conversation) -> dict[str, Any]:
    return {
        "type": "result",
        "is_error": message.is_error,
        "subtype": message.subtype,
        "result": message.result,
        "errors": message.errors or [],
        "turns": message.num_turns,
        "cost_usd": message.total_cost_usd,
        "usage": message.usage or {},
        "session_id": message.session_id or conversation.session_id,
        "stop_reason": message.stop_reason,
        "terminal_reason": message.terminal_reason,
        "api_error_status": message.api_error_status,
        "permission_denials": len(message.permission_denials or []),
    }


def _failure(error: Exception) -> dict[str, Any]:
    code = error.exit_code if isinstance(error, ProcessError) else None
    return {"type": "failure", "error": f"{type(error).__name__}: {error}", "exit_code": code}


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
    try:
        await work(channel, start)
    except Exception as error:  # noqa: BLE001
        # Whatever the SDK raises, the reporter has to be told in words.
        await channel.send(_failure(error))
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
