"""Run the checks on a commit, decide what follows, and store the verdict."""

import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.base import Bus
from omoi_os.forges.registry import make_forge
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.verification.changed_checks import changed_checks
from omoi_os.orchestrator.verification.check_runs import Subject, cause_of_failure, run_checks
from omoi_os.orchestrator.verification.missing_tools import ERROR_TYPE, missing_in
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.ingest.event_log import append_platform_event
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks import verification
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.verdict import Check, Verdict, judge
from omoi_os.tasks.verification import acceptance_of
from omoi_os.tickets.models import Ticket

log = logging.getLogger(__name__)

_NO_COMMIT = "the agent answered without a commit, so there was nothing to check"
_EXPLORATION = "an exploration ends with a report, which no command can check"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a verification found about one commit; `commit` is empty if there is none."""

    commit: str
    verdict: Verdict
    reason: str | None
    checks: Sequence[Check] = ()
    changed_checks: Sequence[str] = ()
    #: An error that no other attempt can repair: the task fails at once.
    error_type: str | None = None


async def verify_attempt(context: Context, task: Task, ticket: Ticket, project: Project) -> None:
    """Verify the result of an attempt whose agent has finished."""
    head, has_commits = await _pushed(context, task, project)
    if task.task_type == ExecutionMode.EXPLORATION:
        finding = Finding(head if has_commits else "", Verdict.UNCHECKED, _EXPLORATION)
    elif not has_commits and task.requires_commit:
        # The commit at which the branch was created is not the task's work.
        finding = Finding("", Verdict.FAILED, f"no commit was pushed to {task.branch_name}")
    elif not head or (not has_commits and task.task_type != ExecutionMode.VALIDATION):
        finding = Finding("", Verdict.UNCHECKED, _NO_COMMIT)
    else:
        finding = await _check(context, Subject(task, ticket, project, head, acceptance_of(project, ticket)))
    await decide(context, task, project, finding)


async def _check(context: Context, subject: Subject) -> Finding:
    """Run the checks on one commit and judge them."""
    checks = await run_checks(context, subject) if subject.commands else []
    verdict, why = judge(checks)
    missing = await missing_in(context, subject, checks)
    return Finding(
        subject.commit,
        verdict,
        missing or why,
        checks=tuple(checks),
        changed_checks=tuple(await changed_checks(context, subject)),
        error_type=ERROR_TYPE if missing else None,
    )


async def _pushed(context: Context, task: Task, project: Project) -> tuple[str, bool]:
    """Return the head of the task's branch, and whether it has commits that the default branch does not."""
    forge = make_forge(project.forge, context.settings)
    repository, branch = repository_of(project), task.branch_name or ""
    # The push may not have been answered yet. A power cut must not undo the commit that is judged.
    await forge.settle(repository, branch)
    head = await forge.branch_head(repository, branch)
    return head or "", head is not None and await forge.has_commits(repository, branch)


async def decide(context: Context, task: Task, project: Project, finding: Finding) -> None:
    """Accept the result, or return the task to the queue with the failures for the next attempt's prompt.

    The branch is locked meanwhile. If it has moved, decide nothing: its new head is verified next.
    """
    async with _held(context, project, task, finding.commit) as is_head, context.sessions() as session, session.begin():
        if not is_head:
            log.info("task %s: %s moved while %s was checked", task.id, task.branch_name, finding.commit)
            return
        now = context.now()
        task = await session.get_one(Task, task.id)
        sandbox = await sandboxes_repository.lock(session, task.sandbox_id or "")
        task = await tasks_repository.lock(session, task.id)
        if task.status != TaskState.VERIFYING or task.lease_owner != context.owner:
            return
        result = _result(task, finding)
        await _record(session, context.bus, sandbox, result, now=now)
        if finding.verdict != Verdict.FAILED:
            await tasks.complete(session, context.bus, task, result=result, now=now)
            return
        task.result = result
        task.feedback = _feedback(finding.checks) or finding.reason
        reason = f"verification failed: {finding.reason}"
        if finding.error_type is not None:
            await tasks.fail(session, context.bus, task, reason=reason, now=now, error_type=finding.error_type)
            return
        await tasks.give_back(
            session,
            context.bus,
            task,
            cause=cause_of_failure(finding.checks),
            reason=reason,
            backoff=context.backoff,
            now=now,
        )


def _held(context: Context, project: Project, task: Task, commit: str) -> AbstractAsyncContextManager[bool]:
    """Lock the task's branch at this commit; without a commit there is nothing to lock."""
    if not commit:
        return nullcontext(True)
    forge = make_forge(project.forge, context.settings)
    return forge.held(repository_of(project), task.branch_name or "", commit)


async def verify_again(context: Context, task: Task, ticket: Ticket, project: Project) -> None:
    """Check a stored commit on request; only the result changes."""
    requested_at, commit = task.verification_requested_at, str((task.result or {}).get("commit_sha") or "")
    commands = task.verification_acceptance or ()
    finding = await _check(context, Subject(task, ticket, project, commit, commands))
    async with context.sessions() as session, session.begin():
        now = context.now()
        sandbox = await _log_of(session, task)
        task = await tasks_repository.lock(session, task.id)
        if task.verification_requested_at != requested_at or task.lease_owner != context.owner:
            return
        task.result = _result(task, finding)
        verification.clear(task)
        task.lease_owner = task.lease_expires_at = None
        if sandbox is not None:
            await _record(session, context.bus, sandbox, task.result, now=now)
        await tasks.announce(session, context.bus, task)


async def _log_of(session: AsyncSession, task: Task) -> Sandbox | None:
    """Return the sandbox whose events record a later verdict: that of the work, else the newest that checked it."""
    if task.sandbox_id is not None:
        sandbox = await sandboxes_repository.lock(session, task.sandbox_id)
        if sandbox.pruned_at is None:
            return sandbox
    checked = await sandboxes_repository.of_task(session, task.id, purpose=Purpose.VERIFY)
    return await sandboxes_repository.lock(session, checked[-1].id) if checked else None


def _result(task: Task, finding: Finding) -> dict[str, Any]:
    """Return the result as it is stored in the task's row."""
    return {
        "final_output": (task.result or {}).get("final_output", ""),
        "commit_sha": finding.commit or None,
        "verdict": finding.verdict,
        "verified": finding.verdict == Verdict.VERIFIED,
        "reason": finding.reason,
        "checks": [asdict(check) for check in finding.checks],
        "changed_checks": list(finding.changed_checks),
    }


async def _record(session: AsyncSession, bus: Bus, sandbox: Sandbox, result: dict[str, Any], *, now: datetime) -> None:
    """Append the verdict to a sandbox's events and store it in its row. The caller has locked the row."""
    data = {key: result[key] for key in ("commit_sha", "verdict", "verified", "checks", "reason")}
    append_platform_event(session, sandbox, EventType.TASK_VERIFIED, data, now=now)
    await sandboxes.record_verdict(session, bus, sandbox, result["verdict"])


def _feedback(checks: Sequence[Check]) -> str:
    failed = [check for check in checks if check.has_failed]
    return "\n\n".join(f"$ {check.command}\n(exit code {check.exit_code})\n{check.output}" for check in failed)
