"""The reporter's side of the conversation with the agent driver: orders out, events in, turn by turn."""

from __future__ import annotations

from omoi_os.protocol.agent import (
    AgentEvent,
    BadMessage,
    Delivered,
    End,
    Failed,
    Interrupt,
    Interrupted,
    ReleaseTool,
    Say,
    Start,
    Started,
    ToolHeld,
    TurnEnded,
)
from omoi_os.protocol.events import EventType
from omoi_os.protocol.messages import Deliver, Message, MessageType
from omoi_os.worker.attempt import failures
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.totals import Totals
from omoi_os.worker.processes import oom_kills
from omoi_os.worker.reporter.driver_process import DriverProcess
from omoi_os.worker.reporter.inbox import Inbox
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.transcripts import Transcripts

#: An interrupt with no other text than this asks the agent to stop and wait.
_ONLY_STOP = frozenset({"", "stop", "halt", "pause", "wait"})


class DriverLink:
    """Talks to one agent driver. `may_pause` says whether a bare stop pauses the attempt instead of ending the turn."""

    def __init__(
        self,
        driver: DriverProcess,
        report: Report,
        *,
        inbox: Inbox,
        transcripts: Transcripts,
        may_pause: bool,
        spent_usd: float = 0.0,
    ) -> None:
        """`spent_usd` is what a resumed session had cost before."""
        self._driver = driver
        self._report = report
        self._inbox = inbox
        self._transcripts = transcripts
        self._may_pause = may_pause
        self._oom_kills = oom_kills()
        self._started = False
        self._bare_stop = False
        self.totals = Totals(spent_usd=spent_usd)
        #: The last turn that ended.
        self.last_turn: TurnEnded | None = None
        #: Whether the last turn was interrupted.
        self.interrupted = False
        #: Whether a bare stop interrupted it, so that the next message decides how to continue.
        self.paused = False
        #: Set when no message will follow: the next turn that ends is the last.
        self.closing = False

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped in the last turn."""
        return self.last_turn.stop_reason if self.last_turn else None

    async def start(self, order: Start) -> None:
        """Start the first turn. Messages that were waiting reach the agent at its first tool boundary."""
        await self._driver.send(order)
        await self._inbox.connect(self._pass_on)
        self._started = True

    async def ask(self, prompt: str) -> None:
        """Start another turn with a prompt of the worker."""
        await self._driver.send(Say(prompt))

    async def interrupt(self) -> None:
        """Stop the turn."""
        await self._driver.send(Interrupt())

    async def end(self) -> None:
        """End the conversation and wait for the driver to exit: the transcript is complete only then."""
        await self._driver.send(End())
        await self._driver.wait()

    async def turn(self) -> Failure | None:
        """Store what the driver reports until a turn has ended and no message waits, or until the driver is gone."""
        async for report in self._driver.reports():
            match report:
                case BadMessage() | AgentEvent():
                    await self._report.wait_for_space()
                    self._report.relay(report)
                    self._transcripts.note_turn(self._report.session_id)
                case Started():
                    self._report.session_id = report.session_id
                case ToolHeld():
                    await self._report.wait_for_space()
                    await self._driver.send(ReleaseTool(report.number))
                case Delivered():
                    self._inbox.note_delivered(report.message_id)
                case Interrupted():
                    self._report_interrupted(report)
                case TurnEnded():
                    self._note_turn(report)
                    if self.closing or not (report.pending or self._inbox.waiting):
                        return self._failure_of(report)
                case Failed():
                    await self._driver.wait()
                    return failures.from_driver(
                        report, stderr=self._driver.stderr, out_of_memory=self._is_out_of_memory()
                    )
        exit_code = await self._driver.wait()
        return failures.from_exit(exit_code, stderr=self._driver.stderr, out_of_memory=self._is_out_of_memory())

    def _failure_of(self, turn: TurnEnded) -> Failure | None:
        # An interrupted turn ends with an error, which is what was asked for unless the worker is stopping.
        return None if self.interrupted and not self.closing else failures.from_turn(turn)

    def _is_out_of_memory(self) -> bool:
        return oom_kills() > self._oom_kills

    def _note_turn(self, turn: TurnEnded) -> None:
        self.last_turn = turn
        self.interrupted = turn.interrupted
        self.paused = self.interrupted and self._bare_stop
        self._bare_stop = False
        self.totals.add(turn)
        self._report.forget_tools()

    def _report_interrupted(self, report: Interrupted) -> None:
        message = self._inbox.find(report.message_id)
        reason = f"{message.message_type} from {message.sender}" if message else "the worker"
        data = {"reason": reason, "message_id": message.message_id if message else None, "turn": self._report.turn}
        self._report.emit(EventType.AGENT_INTERRUPTED, data)

    async def _pass_on(self, message: Message) -> None:
        deliver = message.deliver
        if not self._started and deliver == Deliver.NOW:
            # There is no turn to stop yet.
            deliver = Deliver.NEXT_TOOL
        is_stop = message.message_type == MessageType.INTERRUPT and message.content.strip(" .!\n").lower() in _ONLY_STOP
        self._bare_stop = is_stop and self._may_pause and self._started
        await self._driver.send(Say(message.marked(), deliver, message.message_id, only_stop=self._bare_stop))
