"""Verification: "done" is derived. The acceptance commands run in a fresh sandbox at the pushed commit."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.forges.addresses import repository_of
from omoi_os.forges.registry import make_forge
from omoi_os.orchestrator.assignments import Work, acceptance_of, git_url, verify_spec
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatcher import LEASE, record_started
from omoi_os.orchestrator.endings import GONE, settle
from omoi_os.orchestrator.presence import is_present
from omoi_os.projects.models import Project
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.protocol.events import EventType
from omoi_os.protocol.paths import WORKSPACE
from omoi_os.providers.base import ExecResult, SandboxProvider, SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.sandboxes.log import append_platform_event
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket

log = logging.getLogger(__name__)

#: What is kept of a check's output: its end, where the verdict usually stands.
OUTPUT_BYTES = 8 * 1024
CHECKOUT_TIMEOUT = timedelta(minutes=5)
CHECKOUT_TRIES = 8
CHECKOUT_PAUSE_SECONDS = 0.05
#: How often one attempt's verification is started over when the platform, not the work, is at fault.
MAX_VERIFICATIONS = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One command and how it ended."""

    command: str
    exit_code: int
    output: str


async def verify(context: Context) -> None:
    """Start the verification of every task that waits for one and that no living orchestrator has in hands."""
    async with context.sessions() as session, session.begin():
        waiting = [task.id for task in await tasks_repository.verifying(session)]
    for task_id in waiting:
        name = f"verify {task_id}"
        if not context.jobs.running(name) and await _lease(context, task_id):
            context.jobs.start(name, partial(_verify, context, task_id))


async def _lease(context: Context, task_id: UUID) -> bool:
    """Take the task in hand, or renew it, unless another orchestrator that lives has it."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, task_id)
        if task.status != TaskState.VERIFYING:
            return False
        now = context.now()
        held = task.lease_owner not in (None, context.owner) and (task.lease_expires_at or now) > now
        if held and await is_present(session, task.lease_owner or 0):
            return False
        patience = timedelta(seconds=context.settings.check_timeout_seconds) + LEASE
        task.lease_owner, task.lease_expires_at = context.owner, now + patience
        return True


async def _verify(context: Context, task_id: UUID) -> None:
    async with context.sessions() as session:
        task = await session.get_one(Task, task_id)
        ticket = await session.get_one(Ticket, task.ticket_id)
        project = await session.get_one(Project, task.project_id)
    commit, complaint = await _pushed_commit(context, task, project)
    if not task.requires_commit:
        complaint = None
    # What an exploration hands in is its report; the commands judge work that need not have begun.
    commands = () if task.task_type == ExecutionMode.EXPLORATION else acceptance_of(project, ticket)
    checks: list[Check] = []
    if complaint is not None:
        # Where its branch begins is no work of its own.
        commit = ""
    elif commit and commands:
        checks = await _run_checks(context, task, ticket, project, commit=commit, commands=commands)
    await _decide(context, task_id, commit=commit, complaint=complaint, checks=checks)


async def _pushed_commit(context: Context, task: Task, project: Project) -> tuple[str, str | None]:
    """The commit to check; or why there is none."""
    forge = make_forge(project.forge, context.settings)
    repository, branch = repository_of(project), task.branch_name or ""
    head = await forge.branch_head(repository, branch)
    if head is None or not await forge.has_commits(repository, branch):
        return head or "", f"no commit was pushed to {branch}"
    return head, None


async def _run_checks(
    context: Context, task: Task, ticket: Ticket, project: Project, *, commit: str, commands: Sequence[str]
) -> list[Check]:
    """Every command in one fresh sandbox, in order, stopping at the first that fails."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, task.id)
        earlier = [
            sandbox
            for sandbox in await sandboxes_repository.of_task(session, task.id, purpose=Purpose.VERIFY)
            if sandbox.fence == task.fence
        ]
        if len(earlier) >= MAX_VERIFICATIONS:
            return [
                Check(
                    "verification", 1, f"could not be carried out {MAX_VERIFICATIONS} times: {earlier[-1].end_reason}"
                )
            ]
        provider = context.providers.get(context.providers.name_for(project))
        origin = Origin(provider.name, provider.site, None, 0.0)
        sandbox, token = await sandboxes.open_sandbox(
            session, context.bus, task, purpose=Purpose.VERIFY, origin=origin, now=context.now()
        )
    ref: SandboxRef | None = None
    try:
        work = Work(task, ticket, project, sandbox, token, provider)
        ref = await provider.create(verify_spec(context.settings, work, owner=context.installation))
        await record_started(context, sandbox.id, ref)
        await _check_out(provider, ref, url=git_url(context.settings, work), commit=commit)
        checks = []
        for command in commands:
            await _lease(context, task.id)
            checks.append(await _run_check(context, provider, ref, command))
            if checks[-1].exit_code != 0:
                break
        return checks
    finally:
        await settle(context, sandbox, ref, GONE)


async def _check_out(provider: SandboxProvider, ref: SandboxRef, *, url: str, commit: str) -> None:
    """Bring the commit into the sandbox; tried again, because the gateway may be starting."""
    script = 'git clone --quiet --no-checkout -- "$0" . && git checkout --quiet --detach "$1"'
    for number in range(1, CHECKOUT_TRIES + 1):
        result = await provider.exec(
            ref, ["/bin/sh", "-c", script, url, commit], cwd=WORKSPACE, timeout=CHECKOUT_TIMEOUT
        )
        if result.exit_code == 0:
            return
        log.info("checkout %d of %s: %s", number, commit, result.stderr.decode(errors="replace").strip())
        await asyncio.sleep(CHECKOUT_PAUSE_SECONDS * 2**number)
    raise ProviderError(f"commit {commit} could not be checked out: {result.stderr.decode(errors='replace').strip()}")


async def _run_check(context: Context, provider: SandboxProvider, ref: SandboxRef, command: str) -> Check:
    limit = timedelta(seconds=context.settings.check_timeout_seconds)
    try:
        result = await provider.exec(ref, ["/bin/sh", "-c", command], cwd=WORKSPACE, timeout=limit)
    except TimeoutError:
        return Check(command, 124, f"stopped after {limit.total_seconds():.0f} s (OMOI_CHECK_TIMEOUT_SECONDS)")
    except SandboxGone:
        return Check(command, 137, "the sandbox ended while this ran, for example for lack of memory")
    return Check(command, result.exit_code, context.masker.mask_text(_shown(result)))


def _shown(result: ExecResult) -> str:
    """The end of what was printed, as text that any column takes."""
    printed = (result.stdout + result.stderr).decode(errors="replace").replace("\0", "")
    return printed if len(printed) <= OUTPUT_BYTES else f"[…]{printed[-OUTPUT_BYTES:]}"


async def _decide(
    context: Context, task_id: UUID, *, commit: str, complaint: str | None, checks: Sequence[Check]
) -> None:
    """Accept the result, or give the task back with what failed for the next attempt's prompt."""
    failed = [check for check in checks if check.exit_code != 0]
    async with context.sessions() as session, session.begin():
        now = context.now()
        task = await session.get_one(Task, task_id)
        sandbox = await sandboxes_repository.lock(session, task.sandbox_id or "")
        task = await tasks_repository.lock(session, task_id)
        if task.status != TaskState.VERIFYING or task.lease_owner != context.owner:
            return
        verified = complaint is None and not failed
        result = {
            "final_output": (task.result or {}).get("final_output", ""),
            "commit_sha": commit or None,
            "verified": verified,
            "checks": [asdict(check) for check in checks],
        }
        data = {key: result[key] for key in ("commit_sha", "verified", "checks")} | {"reason": complaint}
        append_platform_event(session, sandbox, EventType.TASK_VERIFIED, data, now=now)
        if verified:
            await tasks.complete(session, context.bus, task, result=result, now=now)
            return
        task.result = result
        task.feedback = complaint or _feedback(failed)
        reason = complaint or f"`{failed[0].command}` ended with exit code {failed[0].exit_code}"
        await tasks.give_back(
            session,
            context.bus,
            task,
            cause=EndCause.WORK,
            reason=f"verification failed: {reason}",
            backoff=context.backoff,
            now=now,
        )


def _feedback(failed: Sequence[Check]) -> str:
    return "\n\n".join(f"$ {check.command}\n(exit code {check.exit_code})\n{check.output}" for check in failed)
