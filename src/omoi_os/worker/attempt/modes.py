"""Modes: what a task's mode asks for between the checkout and the handing in.

An exploration is one report. A validation is told what the acceptance commands say, and reports. An implementation
goes on until they pass.
"""

from __future__ import annotations

import asyncio
from typing import Any

from omoi_os.protocol.assignment import Assignment, ExecutionMode
from omoi_os.protocol.events import EventType
from omoi_os.worker.agents.claude import skills
from omoi_os.worker.attempt.checks import run_checks
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.iterations import Iterations
from omoi_os.worker.attempt.notes import read_notes
from omoi_os.worker.attempt.prompt import guidance, prompt, resumed_prompt
from omoi_os.worker.reporter.driver_link import Exchange
from omoi_os.worker.reporter.driver_process import agent_environ
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.repository.git import Repository
from omoi_os.worker.repository.publish import state_of
from omoi_os.worker.startup.environment import Environment


class Work:
    """The agent's part of one attempt. `assignment` is whole: it has its description."""

    def __init__(
        self, environment: Environment, assignment: Assignment, *, report: Report, repository: Repository
    ) -> None:
        self._environment = environment
        self._places = environment.places
        self._assignment = assignment
        self._report = report
        self._repository = repository
        seconds = assignment.max_seconds
        self._deadline = asyncio.get_running_loop().time() + seconds if seconds else None
        #: Why the last conversation ended, and in how many rounds.
        self.stop_reason: str | None = None
        self.iterations = 1

    async def begin(self, exchange: Exchange, *, resume: str | None) -> None:
        """Start the agent's first turn; `resume` is the session that it goes on with."""
        found = await self._check() if self._assignment.mode == ExecutionMode.VALIDATION else []
        if found:
            passed = all(check["exit_code"] == 0 for check in found)
            about = {"iteration": 1, "max_iterations": 1, "passed": passed, "checks": found}
            self._report.emit(EventType.ITERATION_VALIDATION, about)
        order = {
            "op": "start",
            "prompt": resumed_prompt(self._assignment) if resume else prompt(self._assignment, found),
            "resume": resume,
            "guidance": guidance(self._assignment, notes=self._places.notes),
            "workspace": str(self._places.workspace),
            "tree": str(self._places.tree),
            "plugins": skills.collect(self._places),
            "model": self._assignment.model,
            "max_turns": self._assignment.max_turns,
            "max_budget_usd": self._assignment.max_budget_usd,
            "permission_mode": self._assignment.permission_mode,
        }
        await exchange.start(order, self._environment.variables, self._places)

    async def converse(self, exchange: Exchange) -> Failure | None:
        """From a turn that has begun to the end of the work, as far as it goes inside the sandbox."""
        self._report.phase = "working"
        if self._assignment.mode != ExecutionMode.IMPLEMENTATION:
            failure = await exchange.turn()
            ended = "interrupted" if exchange.interrupted else exchange.result.get("stop_reason")
            self.stop_reason = failure.stop_reason if failure else str(ended or "end_turn")
            return failure
        rounds = Iterations(
            exchange,
            self._report,
            check=self._check,
            look=lambda: state_of(self._repository),
            notes=lambda: read_notes(self._places.notes),
            deadline=self._deadline,
        )
        failure = await rounds.run()
        self.stop_reason, self.iterations = rounds.stop_reason, rounds.number
        return failure

    async def _check(self) -> list[dict[str, Any]]:
        """Run the acceptance commands as the agent would."""
        if not self._assignment.acceptance:
            return []
        self._report.phase = "validating"
        environ = agent_environ(self._environment.variables, self._places, mark="")
        checks = await run_checks(self._assignment.acceptance, workspace=self._places.workspace, environ=environ)
        self._report.phase = "working"
        return checks
