"""The exchange: the reporter's side of the conversation with the agent: orders out, events in, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.protocol.messages import Deliver, Message, MessageType
from omoi_os.worker.agents.claude.transcripts import Transcripts
from omoi_os.worker.attempt import failures
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.totals import Figures
from omoi_os.worker.paths import Places
from omoi_os.worker.processes import oom_kills
from omoi_os.worker.reporter.driver_process import AgentChild, NotJson
from omoi_os.worker.reporter.inbox import Inbox
from omoi_os.worker.reporter.report import Report

#: An interrupt that says no more than this is an order to stop and wait.
_ONLY_STOP = frozenset({"", "stop", "halt", "pause", "wait"})


class Exchange:
    """Speaks with one agent child. `may_pause` says whether a bare stop is waited after, instead of gone on from."""

    def __init__(
        self,
        child: AgentChild,
        report: Report,
        *,
        inbox: Inbox,
        transcripts: Transcripts,
        may_pause: bool,
        spent_usd: float = 0.0,
    ) -> None:
        """`spent_usd` is what a resumed session had cost before: the CLI counts on from there."""
        self._child = child
        self._report = report
        self._inbox = inbox
        self._transcripts = transcripts
        self._may_pause = may_pause
        self._oom_kills = oom_kills()
        self._started = False
        self._bare = False
        self.figures = Figures(spent_usd=spent_usd)
        #: The last result.
        self.result: dict[str, Any] = {}
        #: Whether the last turn was stopped by somebody.
        self.interrupted = False
        #: Whether that was a bare order to stop, so that somebody has to say how to go on.
        self.paused = False
        #: Set when nothing more is to be said: the next result is the last.
        self.closing = False

    async def start(self, order: Mapping[str, Any], environ: Mapping[str, str], places: Places) -> None:
        """Begin the first turn; what was said before goes to its first tool boundary, as there is nothing to stop."""
        await self._child.start(order, environ, places)
        await self._inbox.connect(self._hand_on)
        self._started = True

    async def ask(self, prompt: str) -> None:
        """Begin another turn with a prompt of the worker's own."""
        await self._child.send({"op": "say", "text": prompt, "deliver": Deliver.END_OF_TURN})

    async def interrupt(self) -> None:
        """Stop the turn."""
        await self._child.send({"op": "interrupt"})

    async def end(self) -> None:
        """Let the agent go; the CLI writes the last of its transcript when it ends."""
        await self._child.send({"op": "end"})
        await self._child.wait()

    async def turn(self) -> Failure | None:
        """Relay what the agent says until its turn is over and nothing waits to be said to it; or until its death."""
        async for message in self._child.messages():
            kind = None if isinstance(message, NotJson) else message.get("type")
            if isinstance(message, NotJson) or kind == "event":
                await self._report.wait_for_room()
                self._report.relay(message)
                self._transcripts.note_turn(self._report.session_id)
            elif kind == "brake":
                await self._report.wait_for_room()
                await self._child.send({"op": "release", "number": message.get("number")})
            elif kind == "delivered":
                self._inbox.note_delivered(message.get("message_id"))
            elif kind == "interrupted":
                self._note_interrupted(message)
            elif kind == "result":
                self._note_result(message)
                if self.closing or not (message.get("pending") or self._inbox.waiting):
                    return self._failure_of(message)
            elif kind == "failure":
                await self._child.wait()
                return failures.from_child(message, said=self._child.stderr, out_of_memory=self._out_of_memory())
        exit_code = await self._child.wait()
        return failures.from_end(exit_code, said=self._child.stderr, out_of_memory=self._out_of_memory())

    def _failure_of(self, result: dict[str, Any]) -> Failure | None:
        well = result.get("is_error") is False or (self.interrupted and not self.closing)
        return None if well else failures.from_result(result)

    def _out_of_memory(self) -> bool:
        return oom_kills() > self._oom_kills

    def _note_result(self, message: dict[str, Any]) -> None:
        self.result = message
        self.interrupted = message.get("interrupted") is True
        self.paused = self.interrupted and self._bare
        self._bare = False
        self.figures.add(message)
        self._report.forget_tools()

    def _note_interrupted(self, message: Mapping[str, Any]) -> None:
        said = self._inbox.find(message.get("message_id"))
        reason = f"{said.message_type} from {said.sender}" if said else "the worker"
        about = {"reason": reason, "message_id": said.message_id if said else None, "turn": self._report.turn}
        self._report.emit(EventType.AGENT_INTERRUPTED, about)

    async def _hand_on(self, message: Message) -> None:
        deliver = message.deliver
        if not self._started and deliver == Deliver.NOW:
            deliver = Deliver.NEXT_TOOL
        bare = message.message_type == MessageType.INTERRUPT and message.content.strip(" .!\n").lower() in _ONLY_STOP
        bare = bare and self._may_pause and self._started
        order = {"op": "say", "text": message.marked(), "deliver": deliver, "message_id": message.message_id}
        self._bare = bare
        await self._child.send({**order, "only_stop": bare})
