"""Hand texts to the agent when they are due: at a tool boundary, at once, or as a new turn.

Texts that are handed over at the same moment keep the order in which they came. Texts that still wait when a turn ends
start the next one. An interrupt ends the turn, so every waiting text is handed over with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from omoi_os.protocol.agent import Delivered, DriverReport, Interrupted, Say
from omoi_os.protocol.messages import Deliver
from omoi_os.worker.agents.claude.sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    HookContext,
    HookEvent,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    Message,
    SystemMessage,
)

#: The longest text that a tool hook can hand over whole: of 10,000 characters and more the CLI shows the model only
#: the start. Longer texts go as a prompt, which arrives at the same tool boundary.
MAX_HOOK_CHARACTERS = 9_000

#: The hooks that the end of a tool calls, whether it succeeded or not.
_BOUNDARIES: tuple[HookEvent, ...] = ("PostToolUse", "PostToolUseFailure")

#: Part of the CLI's message about a hook that failed.
_HOOK_FAILED = "hook"

Send = Callable[[DriverReport], Awaitable[None]]


class Turns:
    """The texts that wait, and whether the agent is in a turn. `send` sends reports to the reporter."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._client: ClaudeSDKClient | None = None
        self._waiting: list[Say] = []
        #: Given to a tool hook. The model's next reply confirms that its request had them.
        self._handed: list[Say] = []
        self._running = False
        self._interrupted = False

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """Return the hooks that the client has to call at tool boundaries."""
        return {event: [HookMatcher(hooks=[self._at_boundary])] for event in _BOUNDARIES}

    async def begin(self, client: ClaudeSDKClient, prompt: str) -> None:
        """Start the first turn."""
        self._client = client
        await self.say(Say(prompt))

    async def say(self, order: Say) -> None:
        """Hand the text over when it is due; outside a turn that is now."""
        if order.only_stop and self._running:
            await self.interrupt(order.message_id)
            await self._report_delivered(order)
            return
        self._waiting.append(order)
        if not self._running:
            await self._begin_turn()
        elif order.deliver == Deliver.NOW:
            await self.interrupt(order.message_id)

    async def interrupt(self, message_id: str | None = None) -> None:
        """Stop the turn and the tool that runs in it. Outside a turn this does nothing."""
        if not self._running:
            return
        self._interrupted = True
        await self._connected().interrupt()
        await self._send(Interrupted(message_id))

    def follow(self, message: Message) -> None:
        """Learn from a message of the CLI whether texts that a hook handed over have arrived."""
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            self._handed.clear()
        elif isinstance(message, SystemMessage) and _reports_failed_hook(message):
            self._take_back()

    def end_turn(self) -> tuple[bool, int]:
        """Note that the turn ended. Return whether it was interrupted, and how many texts start the next one."""
        # A text that a hook got right before the turn was stopped may not have reached the model.
        self._take_back()
        self._running = False
        interrupted, self._interrupted = self._interrupted, False
        return interrupted, len(self._waiting)

    async def begin_next(self) -> None:
        """Start the next turn if texts wait for it. Call this after the end of the last one is reported."""
        if self._waiting and not self._running:
            await self._begin_turn()

    async def _begin_turn(self) -> None:
        orders, self._waiting = self._waiting, []
        self._running = True
        await self._connected().query(_joined(orders))
        for order in orders:
            await self._report_delivered(order)

    async def _at_boundary(self, data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        """Hand over what is due. The tools of a sub-agent are not boundaries of the agent that people talk to."""
        about = cast("Mapping[str, Any]", data)
        due = [order for order in self._waiting if order.deliver != Deliver.END_OF_TURN]
        if not due or self._interrupted or about.get("agent_id") or about.get("is_interrupt"):
            return {}
        self._waiting = [order for order in self._waiting if order not in due]
        self._handed += due
        text = _joined(due)
        try:
            if len(text) > MAX_HOOK_CHARACTERS:
                # Sent before the hook's answer, so the CLI has it in time for this boundary.
                await self._connected().query(text)
            for order in due:
                await self._report_delivered(order)
        except BaseException:
            # A hook that fails or times out must not lose its texts.
            self._take_back()
            raise
        if len(text) > MAX_HOOK_CHARACTERS:
            return {}
        output = {"hookEventName": about["hook_event_name"], "additionalContext": text}
        return cast("HookJSONOutput", {"hookSpecificOutput": output})

    def _take_back(self) -> None:
        self._waiting, self._handed = [*self._handed, *self._waiting], []

    async def _report_delivered(self, order: Say) -> None:
        if order.message_id is not None:
            await self._send(Delivered(order.message_id))

    def _connected(self) -> ClaudeSDKClient:
        if self._client is None:
            raise RuntimeError("no text can be handed over before the first turn")
        return self._client


def _reports_failed_hook(message: SystemMessage) -> bool:
    return message.subtype == "informational" and _HOOK_FAILED in str(message.data).lower()


def _joined(orders: Sequence[Say]) -> str:
    return "\n\n".join(order.text for order in orders)
