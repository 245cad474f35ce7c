"""Run the acceptance commands on one commit, each in a fresh sandbox."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, git_url, verify_spec
from omoi_os.orchestrator.dispatch.dispatcher import LEASE, record_started
from omoi_os.orchestrator.recovery.teardown import GONE, finish
from omoi_os.projects.models import Project
from omoi_os.protocol.paths import WORKSPACE
from omoi_os.providers.base import ExecResult, SandboxProvider, SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks.lifecycle import EndCause
from omoi_os.tasks.models import Task
from omoi_os.tasks.verdict import Check, judge, with_warning
from omoi_os.tickets.models import Ticket

log = logging.getLogger(__name__)

#: How much of a check's output is stored: its end, where the summary usually is.
OUTPUT_BYTES = 8 * 1024
CHECKOUT_TIMEOUT = timedelta(minutes=5)
CHECKOUT_TRIES = 8
CHECKOUT_PAUSE_SECONDS = 0.05
#: How often one verification is started when the platform, not the work, fails.
MAX_VERIFICATIONS = 5
#: The command and output of the entry that replaces the checks when the platform could not run them.
_VERIFICATION, _NOT_CARRIED_OUT = "verification", "could not be carried out"


@dataclass(frozen=True, slots=True)
class Subject:
    """One commit of a task, and the commands that check it."""

    task: Task
    ticket: Ticket
    project: Project
    commit: str
    commands: Sequence[str]


async def run_checks(context: Context, subject: Subject) -> list[Check]:
    """Run every command in order, stopping at the first that fails."""
    if complaint := await _count_try(context, subject.task):
        return [Check(_VERIFICATION, 1, complaint)]
    checks: list[Check] = []
    for command in subject.commands:
        await _renew_lease(context, subject.task)
        checks.append(await _run_alone(context, subject, command))
        if checks[-1].has_failed:
            break
    return checks


def cause_of_failure(checks: Sequence[Check]) -> EndCause:
    """Return whether the work failed its checks, or the platform failed to run them."""
    unrun = [check for check in checks if check.command == _VERIFICATION and check.output.startswith(_NOT_CARRIED_OUT)]
    return EndCause.PLATFORM if unrun else EndCause.WORK


async def _run_alone(context: Context, subject: Subject, command: str) -> Check:
    """Run one command in its own sandbox.

    A command runs code of the change and may write everywhere inside: to refs, to git's configuration, to the home
    folder. Another check in the same sandbox would prove nothing.
    """
    work = await _open_sandbox(context, subject)
    ref: SandboxRef | None = None
    try:
        ref = await work.provider.create(verify_spec(context.settings, work, owner=context.installation))
        await record_started(context, work.sandbox.id, ref)
        await _check_out(work.provider, ref, url=git_url(context.settings, work), commit=subject.commit)
        check = await _run_check(context, work.provider, ref, command)
        await _record(context, work.sandbox.id, check)
        return check
    finally:
        await finish(context, work.sandbox, ref, GONE)


async def _record(context: Context, sandbox_id: str, check: Check) -> None:
    """Store the verdict of this check in its sandbox's row."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        await sandboxes.record_verdict(session, context.bus, sandbox, judge([check])[0])


async def _count_try(context: Context, task: Task) -> str | None:
    """Count one more try of this verification; return a sentence if there were too many."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, task.id)
        if task.verification_tries >= MAX_VERIFICATIONS:
            earlier = await sandboxes_repository.of_task(session, task.id, purpose=Purpose.VERIFY)
            why = earlier[-1].end_reason if earlier else "no sandbox could be created"
            return f"{_NOT_CARRIED_OUT} {MAX_VERIFICATIONS} times: {why}"
        task.verification_tries += 1
        return None


async def _open_sandbox(context: Context, subject: Subject) -> Work:
    """Store the row of a fresh sandbox."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, subject.task.id)
        provider = context.providers.get(context.providers.name_for(subject.project))
        origin = Origin(provider.name, provider.site, None, 0.0)
        sandbox, token = await sandboxes.open_sandbox(
            session, context.bus, task, purpose=Purpose.VERIFY, origin=origin, now=context.now()
        )
    return Work(task, subject.ticket, subject.project, sandbox, token, provider)


async def _renew_lease(context: Context, task: Task) -> None:
    """Renew the lease of the verification, unless another orchestrator has taken it over."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, task.id)
        if task.lease_owner == context.owner:
            task.lease_expires_at = context.now() + patience(context)


def patience(context: Context) -> timedelta:
    """Return how long one step of a verification may take before another orchestrator may take over."""
    return timedelta(seconds=context.settings.check_timeout_seconds) + LEASE


async def _check_out(provider: SandboxProvider, ref: SandboxRef, *, url: str, commit: str) -> None:
    """Check the commit out in the sandbox. Retry, because the gateway may still be starting."""
    script = 'git clone --quiet --no-checkout -- "$0" . && git checkout --quiet --detach "$1"'
    for number in range(1, CHECKOUT_TRIES + 1):
        result = await provider.exec(
            ref, ["/bin/sh", "-c", script, url, commit], cwd=WORKSPACE, timeout=CHECKOUT_TIMEOUT
        )
        if result.exit_code == 0:
            return
        said = result.stderr.decode(errors="replace").strip()
        log.debug("try %d to check out commit %s in sandbox %s failed: %s", number, commit, ref, said)
        await asyncio.sleep(CHECKOUT_PAUSE_SECONDS * 2**number)
    raise ProviderError(f"commit {commit} could not be checked out: {said}")


async def _run_check(context: Context, provider: SandboxProvider, ref: SandboxRef, command: str) -> Check:
    limit = timedelta(seconds=context.settings.check_timeout_seconds)
    try:
        result = await provider.exec(ref, ["/bin/sh", "-c", command], cwd=WORKSPACE, timeout=limit)
    except TimeoutError:
        return Check(command, 124, f"stopped after {limit.total_seconds():.0f} s (OMOI_CHECK_TIMEOUT_SECONDS)")
    except SandboxGone:
        return Check(command, 137, "the sandbox ended while this ran, for example for lack of memory")
    return await asyncio.to_thread(_understood, context, command, result)


def _understood(context: Context, command: str, result: ExecResult) -> Check:
    """Return the check with the end of its output, masked and without NUL characters, which PostgreSQL refuses."""
    printed = (result.stdout + b"\n" + result.stderr if result.stderr else result.stdout).decode(errors="replace")
    printed = printed.replace("\0", "")
    shown = printed if len(printed) <= OUTPUT_BYTES else f"[…]{printed[-OUTPUT_BYTES:]}"
    return with_warning(Check(command, result.exit_code, context.masker.mask_text(shown)), printed)
