"""One attempt at a task, from the checkout to its last event."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.worker.agents.base import AgentDriver, Session
from omoi_os.worker.attempt.ending import SAVING_SECONDS, Ending
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.modes import AgentWork
from omoi_os.worker.attempt.prompt import with_description
from omoi_os.worker.attempt.resume import SessionLost, forget_session, is_refusal, lost, not_resumed, restore_session
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.driver_link import DriverLink
from omoi_os.worker.reporter.driver_process import DriverProcess
from omoi_os.worker.reporter.http import HttpError
from omoi_os.worker.reporter.inbox import Inbox
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.transcripts import Transcripts
from omoi_os.worker.reporter.usage import UsageMeter
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.publish import publish
from omoi_os.worker.startup.cold_start import EarlyStart
from omoi_os.worker.startup.driver_start import launch
from omoi_os.worker.startup.environment import Environment

EXIT_COMPLETED = 0
EXIT_FAILED = 1
#: The exit code that shells use for SIGTERM; it tells a stopped worker from a finished one.
EXIT_STOPPED = 128 + signal.SIGTERM

#: How long the agent has to end its turn after SIGTERM.
INTERRUPT_SECONDS = 4.0
#: How long the last check for messages may take. While the API is down, the end could not be reported either.
LAST_CHECK_SECONDS = 120.0


class Attempt:
    """One attempt. `work` runs it, `stop` asks it to end, and `shut_down` ends it if it did not."""

    def __init__(
        self, environment: Environment, report: Report, api: Api, *, agent: AgentDriver, early: EarlyStart
    ) -> None:
        """`early` is what the first stage of the start has done already."""
        self._environment = environment
        self._paths = environment.paths
        self._assignment = environment.assignment
        self._report = report
        self._api = api
        self._agent = agent
        self._repository = Repository(self._paths, self._assignment, environment.token, environment.variables)
        self._usage = UsageMeter([self._paths.home, self._paths.workspace])
        self._early = early
        self._driver: DriverProcess | None = None
        self.transcripts = Transcripts(api, self._paths, agent)
        self.inbox = Inbox(api, report)
        self._stopping = False
        self._ending = Ending(report, self._repository, paths=self._paths, transcripts=self.transcripts)

    async def work(self) -> int:
        """Run the attempt to its last event and return the exit code."""
        if not self._early.is_reported:
            self._emit_started()
        self._driver = await DriverProcess.adopt(self._early.driver or launch(str(self._paths.home)))
        try:
            failure = await self._prepare() or await self._run_agent()
        finally:
            await self._driver.kill()
        if failure is None:
            return EXIT_COMPLETED
        if self._stopping:
            await self.shut_down()
            return EXIT_STOPPED
        await self._ending.fail(failure)
        return EXIT_FAILED

    async def status(self) -> dict[str, Any]:
        """Return the data of a heartbeat."""
        processes = self._driver.processes if self._driver else None
        data = self._report.status() | await self._usage.measure(processes, in_tool=self._report.in_tool)
        # The worker's own checks count as work. Waiting for a message does not, whatever else runs here.
        busy = {"validating": True, "waiting": False}.get(self._report.phase, data["busy"])
        return data | {"busy": busy}

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
            return Failure(str(error), "network", "The repository or the API could not be reached through the gateway.")
        return None

    async def _run_agent(self) -> Failure | None:
        """Let the agent work, resuming the conversation of the previous attempt if there is one."""
        session = None
        try:
            if self._assignment.attempt > 1:
                session = await restore_session(self._api, self._paths, self._agent)
        except SessionLost as error:
            self._start_over(lost(str(error)))
        failure = await self._serve(session)
        if session is None or failure is None or self._stopping or self._report.calls or not is_refusal(failure):
            return failure
        self._start_over(not_resumed(session, failure))
        forget_session(self._paths, self._agent, session)
        if self._driver:
            await self._driver.kill()
        self._driver = await DriverProcess.adopt(launch(str(self._paths.home)))
        return await self._serve(None)

    def _start_over(self, data: dict[str, Any]) -> None:
        """Report that the conversation is lost, and accept its messages again."""
        self._report.emit(EventType.AGENT_ERROR, data)
        self.inbox.forget()

    def _link_to(self, driver: DriverProcess, session: Session | None) -> DriverLink:
        return DriverLink(
            driver,
            self._report,
            inbox=self.inbox,
            transcripts=self.transcripts,
            may_pause=self._assignment.linger_seconds > 0,
            spent_usd=session.cost_usd if session else 0.0,
        )

    async def _serve(self, session: Session | None) -> Failure | None:
        """Publish the agent's work, and continue for every message that comes until then and while lingering."""
        assert self._driver  # noqa: S101
        link = self._ending.link = self._link_to(self._driver, session)
        work = self._ending.work = AgentWork(
            self._environment, self._assignment, agent=self._agent, report=self._report, repository=self._repository
        )
        # Not while the clone runs: the agent reads the git status and looks for skills as soon as it starts.
        await work.begin(link, mark=self._driver.mark, resume=session.id if session else None)
        is_published = False
        while True:
            self._ending.is_reported = False
            failure = await work.converse(link)
            if failure is not None:
                return failure
            if link.paused and await self._linger():
                continue
            self._report.phase = "pushing"
            published = await publish(self._repository, self._ending.base, aside=is_published)
            if isinstance(published, Failure):
                return published
            # The attempt is not over while a message waits that the agent has not received.
            await self.inbox.check(seconds=LAST_CHECK_SECONDS)
            if self.inbox.waiting:
                continue
            if self._assignment.linger_seconds <= 0:
                await link.end()
            await self._ending.complete(link, work, published)
            is_published = True
            if not await self._linger(published.commit_sha):
                await self._release(link)
                return None

    async def _linger(self, commit_sha: str | None = None) -> bool:
        """Wait for another message. Return whether one came; the agent then has it."""
        seconds = self._assignment.linger_seconds
        if seconds <= 0:
            return False
        self._report.phase = "waiting"
        self._ending.is_reported = False
        self._report.emit(EventType.AGENT_WAITING, {"linger_seconds": seconds, "commit_sha": commit_sha})
        if await self.inbox.wait(seconds=seconds):
            return True
        await self.inbox.check(seconds=LAST_CHECK_SECONDS)
        return self.inbox.waiting

    async def _release(self, link: DriverLink) -> None:
        """End an agent that got no further message, and save the rest of its transcript."""
        if self._assignment.linger_seconds > 0:
            await link.end()
            await self._ending.save_transcript()

    async def fail_unexpectedly(self, error: Exception) -> None:
        """Report an error of the worker itself as the attempt's last event."""
        if not self._ending.is_reported:
            hint = "This is an error in the worker; please report it."
            await self._ending.fail(Failure(f"{type(error).__name__}: {error}", "unknown", hint))

    async def stop(self) -> float:
        """Ask the agent to end. Return how many seconds that may take before `shut_down` has to be called."""
        self._stopping = True
        link = self._ending.link
        if self._report.phase == "working" and link:
            link.closing = True
            await link.interrupt()
            return INTERRUPT_SECONDS
        return SAVING_SECONDS if self._report.phase in ("pushing", "failing", "stopping") else 0.0

    async def shut_down(self) -> None:
        """Save what can be saved, and report that the worker was stopped."""
        self._report.phase = "stopping"
        if self._driver:
            await self._driver.kill()
        await self._ending.shut_down()

    async def abandon(self) -> None:
        """Kill the agent and save nothing: the platform no longer accepts anything from this attempt."""
        if self._driver:
            await self._driver.kill()
