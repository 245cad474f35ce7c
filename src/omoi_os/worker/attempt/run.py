"""The run: one task from the clone to its last event."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.worker.agents.claude.session_files import (
    Session,
    SessionLost,
    forget_session,
    is_refusal,
    lost,
    not_resumed,
    restore_session,
)
from omoi_os.worker.agents.claude.transcripts import Transcripts
from omoi_os.worker.attempt.ending import SAVING_SECONDS, Ending
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.modes import Work
from omoi_os.worker.attempt.prompt import with_description
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.driver_link import Exchange
from omoi_os.worker.reporter.driver_process import AgentChild
from omoi_os.worker.reporter.http import HttpError
from omoi_os.worker.reporter.inbox import Inbox
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.usage import Usage
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.publish import hand_in
from omoi_os.worker.startup.cold import Begun
from omoi_os.worker.startup.driver_start import launch
from omoi_os.worker.startup.environment import Environment

EXIT_COMPLETED = 0
EXIT_FAILED = 1
#: What a shell says of a process that SIGTERM ended; it tells a stopped worker from a finished one.
EXIT_STOPPED = 128 + signal.SIGTERM

#: How long the agent has to end its turn after SIGTERM.
INTERRUPT_SECONDS = 4.0
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
        self._stopping = False
        self._ending = Ending(report, self._repository, places=self._places, transcripts=self.transcripts)

    async def work(self) -> int:
        """From the start to the last event; returns the exit code."""
        if not self._begun.is_started:
            self._emit_started()
        self._child = await AgentChild.adopt(self._begun.child or launch(str(self._places.home)))
        try:
            failure = await self._prepare() or await self._attend()
        finally:
            await self._child.kill()
        if failure is None:
            return EXIT_COMPLETED
        if self._stopping:
            await self.shut_down()
            return EXIT_STOPPED
        await self._ending.fail(failure)
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
            self._ending.base = await self._repository.check_out()
        except (GitError, HttpError, OSError) as error:
            return Failure(str(error), "network", "The repository or the API was not reached through the gateway.")
        return None

    async def _attend(self) -> Failure | None:
        """Let the agent work: with the conversation of the attempt before if there is one, else from the beginning."""
        session = None
        try:
            if self._assignment.attempt > 1:
                session = await restore_session(self._api, self._places)
        except SessionLost as error:
            self._start_over(lost(str(error)))
        failure = await self._serve(session)
        if session is None or failure is None or self._stopping or self._report.calls or not is_refusal(failure):
            return failure
        self._start_over(not_resumed(session, failure))
        forget_session(self._places, session)
        if self._child:
            await self._child.kill()
        self._child = await AgentChild.adopt(launch(str(self._places.home)))
        return await self._serve(None)

    def _start_over(self, told: dict[str, Any]) -> None:
        """Report that the conversation is lost, and take messages again that were in it."""
        self._report.emit(EventType.AGENT_ERROR, told)
        self.inbox.forget()

    def _speak_with(self, child: AgentChild, session: Session | None) -> Exchange:
        return Exchange(
            child,
            self._report,
            inbox=self.inbox,
            transcripts=self.transcripts,
            may_pause=self._assignment.linger_seconds > 0,
            spent_usd=session.cost_usd if session else 0.0,
        )

    async def _serve(self, session: Session | None) -> Failure | None:
        """Hand in what the agent did, and stay for what is said to it until then and afterwards."""
        assert self._child  # noqa: S101
        exchange = self._ending.exchange = self._speak_with(self._child, session)
        work = self._ending.work = Work(
            self._environment, self._assignment, report=self._report, repository=self._repository
        )
        # Not beside the clone: the CLI takes its git status and looks for skills as soon as it starts.
        await work.begin(exchange, resume=session.id if session else None)
        is_reported = False
        while True:
            self._ending.is_told = False
            failure = await work.converse(exchange)
            if failure is not None:
                return failure
            if exchange.paused and await self._stay():
                continue
            self._report.phase = "pushing"
            handed_in = await hand_in(self._repository, self._ending.base, aside=is_reported)
            if isinstance(handed_in, Failure):
                return handed_in
            # Not over while something was said that the agent has not heard.
            await self.inbox.look(seconds=LAST_LOOK_SECONDS)
            if self.inbox.waiting:
                continue
            if self._assignment.linger_seconds <= 0:
                await exchange.end()
            await self._ending.complete(exchange, work, handed_in)
            is_reported = True
            if not await self._stay(handed_in.commit_sha):
                await self._let_go(exchange)
                return None

    async def _stay(self, commit_sha: str | None = None) -> bool:
        """Wait for somebody to say something more; whether they did. What was said is then with the agent."""
        linger = self._assignment.linger_seconds
        if linger <= 0:
            return False
        self._report.phase = "waiting"
        self._ending.is_told = False
        self._report.emit(EventType.AGENT_WAITING, {"linger_seconds": linger, "commit_sha": commit_sha})
        if await self.inbox.wait(seconds=linger):
            return True
        await self.inbox.look(seconds=LAST_LOOK_SECONDS)
        return self.inbox.waiting

    async def _let_go(self, exchange: Exchange) -> None:
        """Nobody said anything more: end the agent that was kept for it, and keep the rest of its transcript."""
        if self._assignment.linger_seconds > 0:
            await exchange.end()
            await self._ending.save_transcript()

    async def fail_unexpectedly(self, error: Exception) -> None:
        """Report an error of the worker itself."""
        if not self._ending.is_told:
            hint = "This is an error in the worker; please report it."
            await self._ending.fail(Failure(f"{type(error).__name__}: {error}", "unknown", hint))

    async def stop(self) -> float:
        """Ask the agent to end; returns how many seconds that may take before `shut_down` has to be called."""
        self._stopping = True
        exchange = self._ending.exchange
        if self._report.phase == "working" and exchange:
            exchange.closing = True
            await exchange.interrupt()
            return INTERRUPT_SECONDS
        return SAVING_SECONDS if self._report.phase in ("pushing", "failing", "stopping") else 0.0

    async def shut_down(self) -> None:
        """Save what there is, and say that the worker was told to go."""
        self._report.phase = "stopping"
        if self._child:
            await self._child.kill()
        await self._ending.shut_down()

    async def abandon(self) -> None:
        """End the agent at once and save nothing: this attempt no longer counts."""
        if self._child:
            await self._child.kill()
