"""Iterations: an implementation continues until its checks pass or more turns would not help."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from omoi_os.protocol.events import EventType
from omoi_os.worker.attempt.checks import describe
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.reporter.driver_link import DriverLink
from omoi_os.worker.reporter.report import Report

MAX_ITERATIONS = 10
#: The work stops after this many iterations in a row that fail, or that change no file while the checks fail.
MAX_ERRORS = 3
RETRY_SECONDS = 2.0

Check = dict[str, Any]


class Iterations:
    """The iterations of one conversation. Each is a turn of the agent and the checks after it."""

    def __init__(
        self,
        link: DriverLink,
        report: Report,
        *,
        check: Callable[[], Awaitable[list[Check]]],
        look: Callable[[], Awaitable[str]],
        notes: Callable[[], str],
        deadline: float | None,
    ) -> None:
        """`check` runs the checks, `look` fingerprints the files, `deadline` is a time of the event loop."""
        self._link = link
        self._report = report
        self._check = check
        self._look = look
        self._notes = notes
        self._deadline = deadline
        self._seen = ""
        self._errors = 0
        self._late = False
        self._stopping: asyncio.Task[None] | None = None
        self.number = 0
        #: verified, no_progress, max_iterations, time, errors, interrupted, or the model's own reason.
        self.stop_reason: str | None = None

    async def run(self) -> Failure | None:
        """Run until the last iteration. Return a failure only if there is nothing to push."""
        loop = asyncio.get_running_loop()
        timer = loop.call_at(self._deadline, self._stop_late) if self._deadline is not None else None
        self._seen = await self._look()
        try:
            while True:
                self.number += 1
                self._emit(EventType.ITERATION_STARTED, {})
                failure = await self._link.turn()
                if failure is not None and not await self._retry(failure):
                    return failure
                if failure is None and await self._is_over():
                    return None
        finally:
            if timer:
                timer.cancel()

    def _stop_late(self) -> None:
        self._late = True
        self._stopping = asyncio.create_task(self._link.interrupt())

    async def _retry(self, failure: Failure) -> bool:
        """Start another iteration after an error that may pass. Return whether one was started."""
        self._errors += 1
        self._emit(EventType.ITERATION_FAILED, {"error": failure.error})
        self.stop_reason = failure.stop_reason
        if not failure.is_passing or self._link.closing or self._late:
            return False
        if self._errors >= MAX_ERRORS or self.number >= MAX_ITERATIONS:
            self.stop_reason = "errors"
            return False
        await asyncio.sleep(RETRY_SECONDS * self._errors)
        await self._link.ask(f"An error of the model's host interrupted you ({failure.error}). Continue.")
        return True

    async def _is_over(self) -> bool:
        """Run the checks. Return whether the iteration that just ended was the last."""
        self.stop_reason = self._why_over()
        checks = [] if self.stop_reason else await self._check()
        passed = all(check["exit_code"] == 0 for check in checks)
        if checks:
            self._emit(EventType.ITERATION_VALIDATION, {"passed": passed, "checks": checks})
            self.stop_reason = "verified" if passed else await self._why_give_up()
        elif not self.stop_reason:
            self.stop_reason = self._link.stop_reason or "end_turn"
        data = {"passed": passed if checks else None, "notes": self._notes() or None}
        self._emit(EventType.ITERATION_COMPLETED, {key: value for key, value in data.items() if value is not None})
        if self.stop_reason is None:
            await self._link.ask(self._prompt(checks))
        return self.stop_reason is not None

    def _why_over(self) -> str | None:
        if self._late:
            return "time"
        return "interrupted" if self._link.interrupted else None

    async def _why_give_up(self) -> str | None:
        """Return why another iteration would not help although the checks fail, or None."""
        before, self._seen = self._seen, await self._look()
        self._errors = self._errors + 1 if self._seen == before else 0
        if self._errors >= MAX_ERRORS:
            return "no_progress"
        if self._late:
            return "time"
        return "max_iterations" if self.number >= MAX_ITERATIONS else None

    def _prompt(self, checks: list[Check]) -> str:
        failed = describe([check for check in checks if check["exit_code"] != 0])
        parts = [f"The work is not accepted yet (iteration {self.number} of {MAX_ITERATIONS}):", failed]
        if notes := self._notes():
            parts.append(f"Your notes so far:\n{notes}")
        parts.append("Continue until every acceptance command exits with 0.")
        return "\n\n".join(parts)

    def _emit(self, event_type: str, data: dict[str, Any]) -> None:
        cost = self._link.totals.data(turn=self._report.turn)["cost_usd"]
        about = {"iteration": self.number, "max_iterations": MAX_ITERATIONS, "turn": self._report.turn}
        self._report.emit(event_type, {**about, **data, "cost_usd": cost})
