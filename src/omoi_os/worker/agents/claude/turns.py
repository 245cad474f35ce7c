"""Turns: says things to the agent when they are due: at a tool boundary, at once, or as a new turn.

Runs in the agent child. What is handed over at one moment is handed over in the order of being said. Whatever
waits when a turn ends begins the next one; an interrupt ends the turn, so all that waits goes along with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from omoi_os.protocol.messages import MAX_HOOK_CHARACTERS, Deliver
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

#: The hooks that a tool's end calls, whether it went well or not.
_BOUNDARIES: tuple[HookEvent, ...] = ("PostToolUse", "PostToolUseFailure")

#: How the CLI tells that a hook was called in vain.
_HOOK_FAILED = "hook"

Tell = Callable[[Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Note:
    """Something to say to the agent: a message with its id, or a prompt of the worker's own."""

    text: str
    deliver: str = Deliver.END_OF_TURN
    message_id: str | None = None
    #: Only stop the turn; there is nothing to say.
    only_stop: bool = False

    @classmethod
    def from_order(cls, order: Mapping[str, Any]) -> Note:
        """The note that the reporter sends."""
        return cls(order["text"], order["deliver"], order.get("message_id"), bool(order.get("only_stop")))


class Turns:
    """What waits to be said, and whether the agent is in a turn. `tell` is how the reporter hears of it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._client: ClaudeSDKClient | None = None
        self._waiting: list[Note] = []
        #: Given to a tool hook; the model's next reply shows that it was asked with them.
        self._handed: list[Note] = []
        self._running = False
        self._interrupted = False

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """What the client has to call at tool boundaries."""
        return {event: [HookMatcher(hooks=[self._at_boundary])] for event in _BOUNDARIES}

    async def begin(self, client: ClaudeSDKClient, prompt: str) -> None:
        """Start the first turn."""
        self._client = client
        await self.say(Note(prompt))

    async def say(self, note: Note) -> None:
        """Say it when it is due; outside of a turn that is now."""
        if note.only_stop and self._running:
            await self.interrupt(note.message_id)
            await self._tell_delivered(note)
            return
        self._waiting.append(note)
        if not self._running:
            await self._begin_turn()
        elif note.deliver == Deliver.NOW:
            await self.interrupt(note.message_id)

    async def interrupt(self, message_id: str | None = None) -> None:
        """Stop the turn, and whatever tool runs in it; outside of one nothing happens."""
        if not self._running:
            return
        self._interrupted = True
        await self._connected().interrupt()
        await self._tell({"type": "interrupted", "message_id": message_id})

    def follow(self, message: Message) -> None:
        """Learn from what the CLI says how far things have come."""
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None:
            self._handed.clear()
        elif isinstance(message, SystemMessage) and message.subtype == "informational":
            self._doubt(str(message.data))

    def end_turn(self) -> dict[str, Any]:
        """A turn is over: whether it was interrupted, and how many notes will begin the next one."""
        # What a hook was given right before the turn was stopped may never have reached the model.
        self._take_back()
        self._running = False
        interrupted, self._interrupted = self._interrupted, False
        return {"interrupted": interrupted, "pending": len(self._waiting)}

    async def go_on(self) -> None:
        """Begin the next turn if something waits for it. The reporter has heard of the last one's result."""
        if self._waiting and not self._running:
            await self._begin_turn()

    async def _begin_turn(self) -> None:
        notes, self._waiting = self._waiting, []
        self._running = True
        await self._connected().query(_joined(notes))
        for note in notes:
            await self._tell_delivered(note)

    async def _at_boundary(self, data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        """Hand over what is due. A sub-agent's tools are no boundary of the agent that people talk to."""
        about = cast("Mapping[str, Any]", data)
        due = [note for note in self._waiting if note.deliver != Deliver.END_OF_TURN]
        if not due or self._interrupted or about.get("agent_id") or about.get("is_interrupt"):
            return {}
        self._waiting = [note for note in self._waiting if note not in due]
        self._handed += due
        text = _joined(due)
        try:
            if len(text) > MAX_HOOK_CHARACTERS:
                # Written before the hook's answer, so the CLI has it in time for this boundary.
                await self._connected().query(text)
            for note in due:
                await self._tell_delivered(note)
        except BaseException:
            # A hook that fails, or is given up on, must not take its notes along.
            self._take_back()
            raise
        if len(text) > MAX_HOOK_CHARACTERS:
            return {}
        output = {"hookEventName": about["hook_event_name"], "additionalContext": text}
        return cast("HookJSONOutput", {"hookSpecificOutput": output})

    def _doubt(self, said: str) -> None:
        if _HOOK_FAILED in said.lower():
            self._take_back()

    def _take_back(self) -> None:
        self._waiting, self._handed = [*self._handed, *self._waiting], []

    async def _tell_delivered(self, note: Note) -> None:
        if note.message_id is not None:
            await self._tell({"type": "delivered", "message_id": note.message_id})

    def _connected(self) -> ClaudeSDKClient:
        if self._client is None:
            raise RuntimeError("nothing can be said before the first turn")
        return self._client


def _joined(notes: Sequence[Note]) -> str:
    return "\n\n".join(note.text for note in notes)
