"""The brake: before each of its tools the agent waits until the reporter has room for what it will say.

Runs in the agent child. The pipes between agent and reporter hold many events; those in them are not safe yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from omoi_os.worker.agents.claude.sdk import HookContext, HookEvent, HookInput, HookJSONOutput, HookMatcher

#: The CLI goes on without an answer after this: longer than any sandbox lives.
HOOK_SECONDS = 30 * 24 * 3600.0

Tell = Callable[[Mapping[str, Any]], Awaitable[None]]


class Brake:
    """Asks the reporter, by `tell`, whether the agent may go on; the answers come back by `release`."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._asked: dict[int, asyncio.Event] = {}
        self._count = 0

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """What the client has to call before each tool."""
        return {"PreToolUse": [HookMatcher(hooks=[self._before_tool], timeout=HOOK_SECONDS)]}

    def release(self, number: object) -> None:
        """The reporter has taken everything up to this question, and has room."""
        if isinstance(number, int) and (asked := self._asked.get(number)):
            asked.set()

    async def _before_tool(self, _data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        self._count += 1
        number, released = self._count, asyncio.Event()
        self._asked[number] = released
        try:
            await self._tell({"type": "brake", "number": number})
            await released.wait()
        finally:
            del self._asked[number]
        return {}
