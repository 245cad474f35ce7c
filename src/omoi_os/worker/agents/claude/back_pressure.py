"""Back-pressure: hold every tool call until the reporter can store the events that it will cause.

The channel and the pipes of the SDK hold many events, and an event in them is not stored yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from omoi_os.protocol.agent import DriverReport, ToolHeld
from omoi_os.worker.agents.claude.sdk import HookContext, HookEvent, HookInput, HookJSONOutput, HookMatcher

#: After this time the CLI continues without an answer: longer than any sandbox lives.
HOOK_SECONDS = 30 * 24 * 3600.0

Send = Callable[[DriverReport], Awaitable[None]]


class ToolGate:
    """Reports each held tool call with `send`, and lets it run on `release`."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: dict[int, asyncio.Event] = {}
        self._count = 0

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """Return the hook that the client has to call before each tool."""
        return {"PreToolUse": [HookMatcher(hooks=[self._before_tool], timeout=HOOK_SECONDS)]}

    def release(self, number: int) -> None:
        """Let a held call run. A number that is not held is ignored."""
        if held := self._held.get(number):
            held.set()

    async def _before_tool(self, _data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        self._count += 1
        number, released = self._count, asyncio.Event()
        self._held[number] = released
        try:
            await self._send(ToolHeld(number))
            await released.wait()
        finally:
            del self._held[number]
        return {}
