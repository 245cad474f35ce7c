"""Compare the workspace after each tool call, while the agent still waits for the call's result."""

from __future__ import annotations

from typing import Any

from omoi_os.protocol.events import Event
from omoi_os.worker.agents.claude.sdk import (
    HookContext,
    HookEvent,
    HookMatcher,
    SyncHookJSONOutput,
    ToolResultBlock,
    UserMessage,
)
from omoi_os.worker.agents.claude.translation import EDITORS, Conversation, edit_events
from omoi_os.worker.repository.changes import READERS, Changes

#: After this time the CLI continues without an answer.
HOOK_SECONDS = 60.0


class ChangeWatch:
    """Adds to the conversation what each call changed, before its result is translated."""

    def __init__(self, changes: Changes, conversation: Conversation) -> None:
        self._changes = changes
        self.conversation = conversation

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """Return the hooks that the CLI waits for after each tool."""
        after = HookMatcher(hooks=[self._after_tool], timeout=HOOK_SECONDS)
        return {"PostToolUse": [after], "PostToolUseFailure": [after]}

    async def _after_tool(self, data: Any, tool_use_id: str | None, _: HookContext) -> SyncHookJSONOutput:
        if tool_use_id and data.get("tool_name") not in READERS:
            self.conversation.compared[tool_use_id] = await self._changes.compare()
        return {}

    async def settle(self, message: UserMessage) -> None:
        """Compare for results without a hook, such as those of interrupted calls."""
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                await self._settle(block.tool_use_id, message.tool_use_result)

    async def finish(self) -> list[Event]:
        """Return the events of files that changed after the last comparison."""
        return edit_events(await self._changes.compare(surely=True), about={"turn": self.conversation.turn})

    async def _settle(self, tool_use_id: str, structured: Any) -> None:
        conversation = self.conversation
        tool, _ = conversation.tools.get(tool_use_id, ("unknown", 0.0))
        if tool in READERS:
            return
        if tool_use_id not in conversation.compared:
            conversation.compared[tool_use_id] = await self._changes.compare()
        path = structured.get("filePath") if isinstance(structured, dict) else None
        is_edit = tool in EDITORS and isinstance(path, str)
        if is_edit and await self._changes.cover(str(path), conversation.compared[tool_use_id]):
            conversation.covered.add(tool_use_id)
