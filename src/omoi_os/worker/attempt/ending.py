"""The ending: saves what an attempt leaves, and tells how it ended, once."""

from __future__ import annotations

import asyncio
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.worker.agents.claude.transcripts import Transcripts
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.modes import Work
from omoi_os.worker.attempt.totals import Figures
from omoi_os.worker.paths import Places
from omoi_os.worker.reporter.driver_link import Exchange
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.repository.changes import session_changes
from omoi_os.worker.repository.git import GitError, Repository
from omoi_os.worker.repository.publish import HandedIn, save_unfinished

TRANSCRIPT_TRIES = 6
#: How long saving may take after SIGTERM.
SAVING_SECONDS = 8.0


class Ending:
    """How one attempt ends. What is known of it by then is set as it becomes known."""

    def __init__(self, report: Report, repository: Repository, *, places: Places, transcripts: Transcripts) -> None:
        self._report = report
        self._repository = repository
        self._places = places
        self._transcripts = transcripts
        #: The commit that the work began from.
        self.base: str | None = None
        self.exchange: Exchange | None = None
        self.work: Work | None = None
        #: True once the last event of the attempt is spooled.
        self.is_told = False

    async def complete(self, exchange: Exchange, work: Work, handed_in: HandedIn) -> None:
        """Keep the transcript, and say that it is done."""
        await self.save_transcript()
        changed = await self._changed()
        self._tell(
            EventType.AGENT_COMPLETED,
            {
                "success": True,
                "final_output": str(exchange.result.get("result") or ""),
                **self._figures(),
                "stop_reason": work.stop_reason,
                "iterations": work.iterations,
                "branch_name": handed_in.branch_name,
                "commit_sha": handed_in.commit_sha,
                "files_changed": list(handed_in.files_changed),
                **changed,
            },
        )

    async def fail(self, failure: Failure) -> None:
        """Save what there is, and say why it did not go well."""
        self._report.phase = "failing"
        await self._save_work()
        await self.save_transcript()
        self._report.emit(failure.event_type, failure.about())
        result = self.exchange.result if self.exchange else {}
        more = {"api_error_status": failure.api_error_status, "subtype": result.get("subtype")}
        more["stop_reason"] = (self.work.stop_reason if self.work else None) or failure.stop_reason
        changed = await self._changed()
        self._tell(EventType.AGENT_FAILED, {**failure.about(), **more, **self._figures(), **changed})

    async def shut_down(self) -> None:
        """Save what there is, and say that the worker was told to go."""
        saved, changed = None, {}
        try:
            async with asyncio.timeout(SAVING_SECONDS):
                changed = await self._changed()
                saved = await self._save_work()
                await self.save_transcript(tries=1)
        except TimeoutError:
            saved = None
        self._tell(EventType.AGENT_SHUTDOWN, {"reason": "sigterm", "wip_commit": saved, **self._figures(), **changed})

    async def save_transcript(self, *, tries: int = TRANSCRIPT_TRIES) -> None:
        """Keep the conversation as it is now."""
        session_id = self._session_id()
        if session_id:
            await self._transcripts.save(session_id, tries=tries)

    def _tell(self, event_type: str, data: dict[str, Any]) -> None:
        if not self.is_told:
            self.is_told = True
            self._report.emit(event_type, data)

    def _figures(self) -> dict[str, Any]:
        figures = self.exchange.figures if self.exchange else Figures()
        return {**figures.data(turn=self._report.turn), "session_id": self._session_id()}

    def _session_id(self) -> str | None:
        told = self.exchange.result.get("session_id") if self.exchange else None
        session_id = told or self._report.session_id
        return session_id if isinstance(session_id, str) else None

    async def _save_work(self) -> str | None:
        """Push unfinished work to the work-in-progress branch, if that can be done."""
        try:
            return await save_unfinished(self._repository, self.base)
        except (GitError, OSError) as error:
            about = {"error": str(error), "error_type": "network", "hint": "Unfinished work was not saved."}
            self._report.emit(EventType.AGENT_ERROR, about)
            return None

    async def _changed(self) -> dict[str, Any]:
        return await session_changes(self._places.workspace, self._places.tree, base=self.base) if self.base else {}
