"""Modes: what the agent does between the checkout and the push.

An exploration is one report. A validation gets the results of the acceptance commands, and reports. An implementation
continues until the acceptance commands pass.
"""

from __future__ import annotations

import asyncio
from typing import Any

from omoi_os.protocol.agent import Start
from omoi_os.protocol.assignment import Assignment, ExecutionMode
from omoi_os.protocol.events import EventType
from omoi_os.worker.agents.base import AgentDriver
from omoi_os.worker.agents.environment import agent_environ
from omoi_os.worker.attempt.checks import run_checks
from omoi_os.worker.attempt.failures import Failure
from omoi_os.worker.attempt.iterations import Iterations
from omoi_os.worker.attempt.notes import read_notes
from omoi_os.worker.attempt.prompt import guidance, prompt, resumed_prompt
from omoi_os.worker.reporter.driver_link import DriverLink
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.repository.git import Repository
from omoi_os.worker.repository.publish import state_of
from omoi_os.worker.startup.environment import Environment


class AgentWork:
    """The agent's part of one attempt. `assignment` must have its description."""

    def __init__(
        self,
        environment: Environment,
        assignment: Assignment,
        *,
        agent: AgentDriver,
        report: Report,
        repository: Repository,
    ) -> None:
        self._environment = environment
        self._paths = environment.paths
        self._assignment = assignment
        self._agent = agent
        self._report = report
        self._repository = repository
        seconds = assignment.max_seconds
        self._deadline = asyncio.get_running_loop().time() + seconds if seconds else None
        #: Why the last conversation ended, and after how many iterations.
        self.stop_reason: str | None = None
        self.iterations = 1

    async def begin(self, link: DriverLink, *, mark: str, resume: str | None) -> None:
        """Start the agent's first turn. `resume` is the session to continue."""
        found = await self._check() if self._assignment.mode == ExecutionMode.VALIDATION else []
        if found:
            passed = all(check["exit_code"] == 0 for check in found)
            data = {"iteration": 1, "max_iterations": 1, "passed": passed, "checks": found}
            self._report.emit(EventType.ITERATION_VALIDATION, data)
        await link.start(
            Start(
                prompt=resumed_prompt(self._assignment) if resume else prompt(self._assignment, found),
                guidance=guidance(self._assignment, notes=self._paths.notes),
                workspace=str(self._paths.workspace),
                snapshots=str(self._paths.snapshots),
                environ=agent_environ(self._agent, self._environment.variables, self._paths, mark=mark),
                resume=resume,
                skills=self._agent.collect_skills(self._paths),
                model=self._assignment.model,
                max_turns=self._assignment.max_turns,
                max_budget_usd=self._assignment.max_budget_usd,
                permission_mode=self._assignment.permission_mode,
            )
        )

    async def converse(self, link: DriverLink) -> Failure | None:
        """Follow the turn that has started to the end of the work. Return the failure if there is nothing to push."""
        self._report.phase = "working"
        if self._assignment.mode != ExecutionMode.IMPLEMENTATION:
            failure = await link.turn()
            ended = "interrupted" if link.interrupted else link.stop_reason
            self.stop_reason = failure.stop_reason if failure else ended or "end_turn"
            return failure
        iterations = Iterations(
            link,
            self._report,
            check=self._check,
            look=lambda: state_of(self._repository),
            notes=lambda: read_notes(self._paths.notes),
            deadline=self._deadline,
        )
        failure = await iterations.run()
        self.stop_reason, self.iterations = iterations.stop_reason, iterations.number
        return failure

    async def _check(self) -> list[dict[str, Any]]:
        """Run the acceptance commands in the agent's environment."""
        if not self._assignment.acceptance:
            return []
        self._report.phase = "validating"
        environ = agent_environ(self._agent, self._environment.variables, self._paths, mark="")
        checks = await run_checks(self._assignment.acceptance, workspace=self._paths.workspace, environ=environ)
        self._report.phase = "working"
        return checks
