"""The run: one task from the clone to its last event."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.worker.api import Api
from omoi_os.worker.beginning import Begun
from omoi_os.worker.child import AgentChild
from omoi_os.worker.environment import Environment
from omoi_os.worker.exchange import Exchange
from omoi_os.worker.failures import Failure
from omoi_os.worker.figures import Figures
from omoi_os.worker.git import GitError, Repository
from omoi_os.worker.handin import HandedIn, hand_in, save_unfinished
from omoi_os.worker.http import HttpError
from omoi_os.worker.inbox import Inbox
from omoi_os.worker.launch import launch
from omoi_os.worker.modes import Work
from omoi_os.worker.prompt import with_description
from omoi_os.worker.report import Report
from omoi_os.worker.transcripts import Transcripts
from omoi_os.worker.usage import Usage

EXIT_COMPLETED = 0
EXIT_FAILED = 1
#: What a shell says of a process that SIGTERM ended; it tells a stopped worker from a finished one.
EXIT_STOPPED = 128 + signal.SIGTERM

TRANSCRIPT_TRIES = 6
#: How long the agent has to end its turn, and how long saving may take, after SIGTERM.
INTERRUPT_SECONDS = 4.0
SAVING_SECONDS = 8.0
#: How long the last look for messages may take. While the API is away the end could not be told anyway.
LAST_LOOK_SECONDS = 120.0


class Run:
    """One attempt at one task. `work` runs it; `stop` asks it to end; `shut_down` ends it when it did not."""

    def __init__(self, environment: Environment, report: Report, api: Api, *, begun: Begun) -> None:
        """`begun` tells what was done before the rest of the worker was there."""
        self._environment = environment
        self._places = environment.places
        self._assignment = environment.assignment
        self._report = report
        self._api = api
        self._repository = Repository(self._places, self._assignment, environment.token, environment.variables)
        self._usage = Usage([self._places.home, self._places.workspace])
        self._begun = begun
        self._child: AgentChild | None = None
        self.transcripts = Transcripts(api, self._places)
        self.inbox = Inbox(api, report)
        self._exchange: Exchange | None = None
        self._base: str | None = None
        self._work: Work | None = None
        self._stopping = False
        #: True once the last event of the attempt is spooled.
        self.ended = False

    async def work(self) -> int:
        """From the start to the last event; returns the exit code."""
        if not self._begun.is_started:
            self._emit_started()
        child = self._child = await AgentChild.adopt(self._begun.child or launch(str(self._places.home)))
        self._exchange = Exchange(
            child,
            self._report,
            inbox=self.inbox,
            transcripts=self.transcripts,
            may_pause=self._assignment.linger_seconds > 0,
        )
        try:
            failure = await self._prepare() or await self._attend(self._exchange)
        finally:
            await child.kill()
        if failure is None:
            return EXIT_COMPLETED
        if self._stopping:
            await self.shut_down()
            return EXIT_STOPPED
        await self._fail(failure)
        return EXIT_FAILED

    async def status(self) -> dict[str, Any]:
        """The heartbeat's data."""
        agent = self._child.agent if self._child else None
        beat = self._report.status() | await self._usage.measure(agent, in_tool=self._report.in_tool)
        # The worker's own checks are work, and waiting is none, whatever else runs here.
        busy = {"validating": True, "waiting": False}.get(self._report.phase, beat["busy"])
        return beat | {"busy": busy}

    def _emit_started(self) -> None:
        assignment = self._assignment
        data = {"attempt": assignment.attempt, "branch_name": assignment.branch_name, "model": assignment.model}
        data |= {"mode": str(assignment.mode), "worker_pid": os.getpid(), "python": sys.version.split()[0]}
        self._report.emit(EventType.AGENT_STARTED, data)

    async def _prepare(self) -> Failure | None:
        """Fetch the description if it is long, and check the branch out."""
        self._report.phase = "cloning"
        try:
            self._assignment = await with_description(self._assignment, self._api)
            self._base = await self._repository.check_out()
        except (GitError, HttpError, OSError) as error:
            return Failure(str(error), "network", "The repository or the API was not reached through the gateway.")
        return None

    async def _attend(self, exchange: Exchange) -> Failure | None:
        """Let the agent work, hand in what it did, and stay for what is said to it until then and afterwards."""
        work = self._work = Work(self._environment, self._assignment, report=self._report, repository=self._repository)
        # Not beside the clone: the CLI takes its git status and looks for skills as soon as it starts.
        await work.begin(exchange)
        while True:
            self.ended = False
            failure = await work.converse(exchange)
            if failure is not None:
                return failure
            if exchange.paused and await self._stay():
                continue
            self._report.phase = "pushing"
            handed_in = await hand_in(self._repository, self._base)
            if isinstance(handed_in, Failure):
                return handed_in
            # Not over while something was said that the agent has not heard.
            await self.inbox.look(seconds=LAST_LOOK_SECONDS)
            if self.inbox.waiting:
                continue
            await self._complete(exchange, work, handed_in)
            if not await self._stay(handed_in.commit_sha):
                await self._let_go(exchange)
                return None

    async def _stay(self, commit_sha: str | None = None) -> bool:
        """Wait for somebody to say something more; whether they did. What was said is then with the agent."""
        linger = self._assignment.linger_seconds
        if linger <= 0:
            return False
        self._report.phase = "waiting"
        self.ended = False
        self._report.emit(EventType.AGENT_WAITING, {"linger_seconds": linger, "commit_sha": commit_sha})
        if await self.inbox.wait(seconds=linger):
            return True
        await self.inbox.look(seconds=LAST_LOOK_SECONDS)
        return self.inbox.waiting

    async def _complete(self, exchange: Exchange, work: Work, handed_in: HandedIn) -> None:
        """Keep the transcript, and say that it is done."""
        if self._assignment.linger_seconds <= 0:
            await exchange.end()
        await self._save_transcript(tries=TRANSCRIPT_TRIES)
        self._end(
            EventType.AGENT_COMPLETED,
            {
                "success": True,
                "final_output": str(exchange.result.get("result") or ""),
                **self._figures(),
                "stop_reason": work.stop_reason,
                "iterations": work.iterations,
                "branch_name": self._assignment.branch_name,
                "commit_sha": handed_in.commit_sha,
                "files_changed": list(handed_in.files_changed),
            },
        )

    async def _let_go(self, exchange: Exchange) -> None:
        """Nobody said anything more: end the agent that was kept for it, and keep the rest of its transcript."""
        if self._assignment.linger_seconds > 0:
            await exchange.end()
            await self._save_transcript(tries=TRANSCRIPT_TRIES)

    async def _fail(self, failure: Failure) -> None:
        self._report.phase = "failing"
        await self._save_work()
        await self._save_transcript(tries=TRANSCRIPT_TRIES)
        self._report.emit(failure.event_type, failure.about())
        result = self._exchange.result if self._exchange else {}
        more = {"api_error_status": failure.api_error_status, "subtype": result.get("subtype")}
        more["stop_reason"] = (self._work.stop_reason if self._work else None) or failure.stop_reason
        self._end(EventType.AGENT_FAILED, {**failure.about(), **more, **self._figures()})

    async def fail_unexpectedly(self, error: Exception) -> None:
        """Report an error of the worker itself."""
        if not self.ended:
            hint = "This is an error in the worker; please report it."
            await self._fail(Failure(f"{type(error).__name__}: {error}", "unknown", hint))

    async def stop(self) -> float:
        """Ask the agent to end; returns how many seconds that may take before `shut_down` has to be called."""
        self._stopping = True
        if self._report.phase == "working" and self._exchange:
            self._exchange.closing = True
            await self._exchange.interrupt()
            return INTERRUPT_SECONDS
        return SAVING_SECONDS if self._report.phase in ("pushing", "failing", "stopping") else 0.0

    async def shut_down(self) -> None:
        """Save what there is, and say that the worker was told to go."""
        self._report.phase = "stopping"
        if self._child:
            await self._child.kill()
        try:
            async with asyncio.timeout(SAVING_SECONDS):
                saved = await self._save_work()
                await self._save_transcript(tries=1)
        except TimeoutError:
            saved = None
        self._end(EventType.AGENT_SHUTDOWN, {"reason": "sigterm", "wip_commit": saved, **self._figures()})

    async def abandon(self) -> None:
        """End the agent at once and save nothing: this attempt no longer counts."""
        if self._child:
            await self._child.kill()

    def _end(self, event_type: str, data: dict[str, Any]) -> None:
        if not self.ended:
            self.ended = True
            self._report.emit(event_type, data)

    def _figures(self) -> dict[str, Any]:
        figures = self._exchange.figures if self._exchange else Figures()
        return {**figures.data(turn=self._report.turn), "session_id": self._session_id()}

    def _session_id(self) -> str | None:
        told = self._exchange.result.get("session_id") if self._exchange else None
        session_id = told or self._report.session_id
        return session_id if isinstance(session_id, str) else None

    async def _save_work(self) -> str | None:
        """Push unfinished work to the work-in-progress branch, if that can be done."""
        try:
            return await save_unfinished(self._repository, self._base)
        except (GitError, OSError) as error:
            about = {"error": str(error), "error_type": "network", "hint": "Unfinished work was not saved."}
            self._report.emit(EventType.AGENT_ERROR, about)
            return None

    async def _save_transcript(self, *, tries: int) -> None:
        session_id = self._session_id()
        if session_id:
            await self.transcripts.save(session_id, tries=tries)
