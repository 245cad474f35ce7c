"""The end of an attempt: saves its results, and reports once how it ended."""

from __future__ import annotations

import asyncio
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.modes import AgentWork
from omoi_os.worker.attempt.totals import Totals
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter.driver_link import DriverLink
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.transcripts import Transcripts
from omoi_os.worker.repository.changes import session_changes
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.publish import Published, save_unfinished

TRANSCRIPT_TRIES = 6
#: How long saving may take after SIGTERM.
SAVING_SECONDS = 8.0


class Ending:
    """How one attempt ends. Its attributes are set as they become known."""

    def __init__(self, report: Report, repository: Repository, *, paths: WorkerPaths, transcripts: Transcripts) -> None:
        self._report = report
        self._repository = repository
        self._paths = paths
        self._transcripts = transcripts
        #: The commit that the work started from.
        self.base: str | None = None
        self.link: DriverLink | None = None
        self.work: AgentWork | None = None
        #: Whether the attempt's last event is spooled.
        self.is_reported = False

    async def complete(self, link: DriverLink, work: AgentWork, published: Published) -> None:
        """Save the transcript and report `agent.completed`."""
        await self.save_transcript()
        changed = await self._changed()
        self._emit_last(
            EventType.AGENT_COMPLETED,
            {
                "success": True,
                "final_output": link.last_turn.final_output if link.last_turn else "",
                **self._totals(),
                "stop_reason": work.stop_reason,
                "iterations": work.iterations,
                "branch_name": published.branch_name,
                "commit_sha": published.commit_sha,
                "files_changed": list(published.files_changed),
                **changed,
            },
        )

    async def fail(self, failure: Failure) -> None:
        """Save unfinished work and the transcript, and report the error and `agent.failed`."""
        self._report.phase = "failing"
        await self._save_work()
        await self.save_transcript()
        self._report.emit(failure.event_type, failure.about())
        turn = self.link.last_turn if self.link else None
        more = {"api_error_status": failure.api_error_status, "subtype": turn.outcome if turn else None}
        more["stop_reason"] = (self.work.stop_reason if self.work else None) or failure.stop_reason
        changed = await self._changed()
        self._emit_last(EventType.AGENT_FAILED, {**failure.about(), **more, **self._totals(), **changed})

    async def shut_down(self) -> None:
        """Save what can be saved in `SAVING_SECONDS`, and report `agent.shutdown`."""
        saved, changed = None, {}
        try:
            async with asyncio.timeout(SAVING_SECONDS):
                changed = await self._changed()
                saved = await self._save_work()
                await self.save_transcript(tries=1)
        except TimeoutError:
            saved = None
        data = {"reason": "sigterm", "wip_commit": saved, **self._totals(), **changed}
        self._emit_last(EventType.AGENT_SHUTDOWN, data)

    async def save_transcript(self, *, tries: int = TRANSCRIPT_TRIES) -> None:
        """Save the conversation as it is now."""
        session_id = self._session_id()
        if session_id:
            await self._transcripts.save(session_id, tries=tries)

    def _emit_last(self, event_type: str, data: dict[str, Any]) -> None:
        if not self.is_reported:
            self.is_reported = True
            self._report.emit(event_type, data)

    def _totals(self) -> dict[str, Any]:
        totals = self.link.totals if self.link else Totals()
        return {**totals.data(turn=self._report.turn), "session_id": self._session_id()}

    def _session_id(self) -> str | None:
        turn = self.link.last_turn if self.link else None
        return (turn.session_id if turn else None) or self._report.session_id

    async def _save_work(self) -> str | None:
        """Push unfinished work to the work-in-progress branch. Return its commit; report an error as an event."""
        try:
            return await save_unfinished(self._repository, self.base)
        except (GitError, OSError) as error:
            data = {"error": str(error), "error_type": "network", "hint": "Unfinished work was not saved."}
            self._report.emit(EventType.AGENT_ERROR, data)
            return None

    async def _changed(self) -> dict[str, Any]:
        return await session_changes(self._paths.workspace, self._paths.snapshots, base=self.base) if self.base else {}
