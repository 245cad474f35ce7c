"""Claim the next tasks that fit the concurrency limits, and create a sandbox for each."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.credentials.resolver import ModelName, model_names
from omoi_os.errors import ForgeError, ProviderError, ProviderUnavailable, RepositoryDamaged
from omoi_os.forges.registry import make_forge, make_mirrors
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch import task_branch
from omoi_os.orchestrator.dispatch import warm_pool as pool
from omoi_os.orchestrator.dispatch.assignments import Work, budget_of, shown_environment, work_environment, work_spec
from omoi_os.orchestrator.provider_cache import RETRY_SECONDS
from omoi_os.orchestrator.upkeep import prepared_checkouts as checkouts
from omoi_os.orchestrator.upkeep import repository_damage as repositories
from omoi_os.orchestrator.upkeep.free_space import has_free_space
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project
from omoi_os.projects.values import DEFAULT_CONCURRENCY, number_of
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import salvages
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import queue as turns
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.queue import Ready

log = logging.getLogger(__name__)

#: How long an orchestrator may take for one step before another may take over the task.
LEASE = timedelta(minutes=2)
#: How long a task is postponed when its provider is unavailable.
PROVIDER_PAUSE = timedelta(seconds=RETRY_SECONDS)
#: How long a task that could not be claimed is postponed, so that the rest of its project continues.
CLAIM_PAUSE = timedelta(minutes=1)

#: Claims one task for its author's model; returns None if that is not possible now.
Assign = Callable[[AsyncSession, Context, Ready, ModelName], Awaitable[Work | None]]


async def dispatch(context: Context) -> None:
    """Claim the tasks that can run now and start creating their sandboxes. Claim nothing without free disk space."""
    if not await has_free_space(context) or context.quotas.all_full:
        return
    for work in await claim(context):
        context.timers.note("claim")
        context.jobs.start(f"spawn {work.sandbox.id}", partial(spawn, context, work))


async def claim(context: Context) -> list[Work]:
    """Claim the next tasks and store their sandboxes' rows in one transaction, before any sandbox is created."""
    claimed, unknown = await _claim(context)
    if unknown:
        await context.providers.prepare(unknown)
        claimed += (await _claim(context))[0]
    return claimed


async def _claim(context: Context) -> tuple[list[Work], set[str]]:
    """Return the claimed tasks, and the providers that must be created before more can be claimed."""
    try:
        return await _claim_in_turn(context, assign=_assign)
    except Exception:  # noqa: BLE001  one of the tasks; the second pass finds and names it
        return await _claim_in_turn(context, assign=_assign_apart)


async def _claim_in_turn(context: Context, *, assign: Assign) -> tuple[list[Work], set[str]]:
    claimed: list[Work] = []
    unknown: set[str] = set()
    left_out: set[UUID] = set(context.quotas.full)
    async with context.sessions() as session, session.begin():
        await tasks_repository.lock_claims(session)
        # Look again: tasks of projects at their limit, or left out, may have hidden those of other projects.
        while await _claim_some(session, context, claimed, unknown, left_out, assign=assign):
            pass
        if claimed:
            await turns.record_turns(session, {work.project.id for work in claimed}, now=context.now())
    return claimed, unknown


async def _claim_some(
    session: AsyncSession,
    context: Context,
    claimed: list[Work],
    unknown: set[str],
    left_out: set[UUID],
    *,
    assign: Assign,
) -> bool:
    """Claim the next candidates that fit the limits. Return whether another look may find more."""
    limit = context.settings.max_concurrent_tasks
    ready = await turns.ready_tasks(session, now=context.now(), without=left_out, limit=limit)
    models = await model_names(session, context.settings, {each.ticket.created_by for each in ready})
    taken = Counter[UUID]()
    newly_left_out: set[UUID] = set()
    for each in ready:
        project = each.project
        name = _provider_of(context, project)
        if name is None:
            newly_left_out.add(project.id)
            continue
        if not context.providers.was_tried(name):
            unknown.add(name)
            newly_left_out.add(project.id)
        free_slots = limit - each.active - taken.total()
        free_slots_in_project = (
            number_of(project, "max_concurrent_tasks", DEFAULT_CONCURRENCY) - each.active_in_project - taken[project.id]
        )
        if free_slots <= 0 or free_slots_in_project <= 0 or project.id in newly_left_out:
            continue
        work = await assign(session, context, each, models[each.ticket.created_by])
        if work is None:
            newly_left_out.add(project.id)
            continue
        taken[project.id] += 1
        claimed.append(work)
    left_out |= newly_left_out
    passed_over = len(ready) - taken.total()
    return bool(passed_over and (taken or newly_left_out) and ready[0].active + taken.total() < limit)


def _provider_of(context: Context, project: Project) -> str | None:
    """Return the name of the project's provider; None if its settings are invalid, without affecting other projects."""
    with context.health.isolated(f"project {project.id}"):
        return context.providers.name_for(project)
    return None


async def _assign_apart(session: AsyncSession, context: Context, ready: Ready, model: ModelName) -> Work | None:
    """Claim one task in a savepoint; postpone it if that fails, without affecting the others.

    It takes two more round trips, so it is used only after claiming without savepoints has failed.
    """
    task_id = ready.task.id
    with context.health.isolated(f"task {task_id}"):
        async with session.begin_nested():
            return await _assign(session, context, ready, model)
    later = {"not_before": context.now() + CLAIM_PAUSE}
    await session.execute(update(Task).where(Task.id == task_id).values(later))
    return None


async def _assign(session: AsyncSession, context: Context, ready: Ready, model: ModelName) -> Work | None:
    """Claim one task; postpone it with the reason if its provider is unavailable."""
    now = context.now()
    task, ticket, project = ready.task, ready.ticket, ready.project
    only_of = ticket if ready.alone else None
    try:
        provider = context.providers.get(context.providers.name_for(project))
    except ProviderUnavailable as error:
        # No sandbox was created, so no attempt is used up. The provider is not asked again before this.
        await tasks.postpone(session, context.bus, task, reason=str(error), until=now + PROVIDER_PAUSE)
        return None
    await tasks.assign(session, context.bus, task, lease_owner=context.owner, until=now + LEASE, only_of=only_of)
    unsaved = await salvages.unsaved_of_task(session, task) if task.fence > 1 else ()
    if unsaved:
        _mention_unsaved(task, unsaved)
    origin = Origin(
        provider=provider.name,
        site=provider.site,
        model=model.for_task(task.model),
        budget_usd=budget_of(context.settings, project, ticket),
        unsaved_work_of=tuple(unsaved),
        warm=await pool.take(session, context, provider) if context.settings.warm_sandboxes else None,
    )
    sandbox, token = await sandboxes.open_sandbox(
        session, context.bus, task, purpose=Purpose.WORK, origin=origin, now=now
    )
    task.sandbox_id = sandbox.id
    return Work(task, ticket, project, sandbox, token, provider)


def _mention_unsaved(task: Task, unsaved: Sequence[str]) -> None:
    """Add to the prompt that the next attempt starts without the uncommitted work of an earlier one."""
    note = (
        f"The uncommitted work of an earlier attempt ({', '.join(unsaved)}) could not be saved yet and is not in this "
        f"checkout. Once it is saved, it is on the branch wip/{task.id}-<attempt>."
    )
    if note not in (task.feedback or ""):
        task.feedback = f"{task.feedback}\n\n{note}" if task.feedback else note


async def spawn(context: Context, work: Work) -> None:
    """Create the branch, then the sandbox. On failure, return the task to the queue."""
    project = work.project
    try:
        forge = make_forge(project.forge, context.settings)
        repository = repository_of(project)
        async with _kept_lease(context, work):
            await forge.ensure_repository(repository)
            # The sandbox borrows objects from the mirror, so bring that up to date first.
            await make_mirrors(project.forge, context.settings).open(repository)
            await repositories.require_whole(context, project)
            if not await task_branch.ensure_branch(context, work, forge):
                return
            ref = await _create(context, work)
    except RepositoryDamaged as error:
        log.warning("task %s cannot continue: %s", work.task.id, error)
        await _creation_failed(context, work, reason=str(error), final=True)
        return
    except (ForgeError, ProviderError) as error:
        log.warning("sandbox %s could not be created: %s", work.sandbox.id, error)
        await _creation_failed(context, work, reason=str(error))
        return
    except Exception as error:
        log.warning("sandbox %s could not be created", work.sandbox.id, exc_info=True)
        reason = f"its sandbox could not be created: {type(error).__name__}: {error}"
        await _creation_failed(context, work, reason=reason)
        return
    await record_started(context, work.sandbox.id, ref, environment=shown_environment(context.settings, work))
    checkouts.prepare(context, work)


@asynccontextmanager
async def _kept_lease(context: Context, work: Work) -> AsyncIterator[None]:
    """Renew the task's lease while a sandbox is being created: the first clone of a large repository takes minutes."""
    keeping = asyncio.create_task(_keep_lease(context, work))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def _keep_lease(context: Context, work: Work) -> None:
    while True:
        await asyncio.sleep(LEASE.total_seconds() / 4)
        own = (Task.id == work.task.id, Task.fence == work.sandbox.fence, Task.lease_owner == context.owner)
        try:
            async with context.sessions() as session, session.begin():
                await session.execute(update(Task).where(*own).values(lease_expires_at=context.now() + LEASE))
        except SQLAlchemyError as error:
            log.warning("the lease of task %s was not renewed: %s", work.task.id, error)


async def _create(context: Context, work: Work) -> SandboxRef:
    """Give the task to the warm sandbox that was claimed for it; without one, create a sandbox."""
    if work.sandbox.provider_ref is not None:
        ref = SandboxRef(work.sandbox.provider_ref)
        await pool.hand_over(work.provider, ref, work_environment(context.settings, work))
        return ref
    return await work.provider.create(work_spec(context.settings, work, owner=context.installation))


async def record_started(
    context: Context, sandbox_id: str, ref: SandboxRef, *, environment: Mapping[str, str] | None = None
) -> None:
    """Record that the provider has created the sandbox, with the part of its environment that people may see.

    If the row has ended meanwhile, do nothing: the reconciler removes the sandbox.
    """
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        if sandbox.status not in ENDED:
            told = {} if environment is None else {"environment": dict(environment)}
            await sandboxes.mark_started(
                session, context.bus, sandbox, provider_ref=ref, details=told, now=context.now()
            )


async def _creation_failed(context: Context, work: Work, *, reason: str, final: bool = False) -> None:
    """End the sandbox's row and return the task to the queue; with `final`, fail it."""
    async with context.sessions() as session, session.begin():
        now = context.now()
        sandbox = await sandboxes_repository.lock(session, work.sandbox.id)
        task = await tasks_repository.lock(session, work.task.id)
        if sandbox.status in ENDED:
            return
        await sandboxes.end(session, context.bus, sandbox, state=SandboxState.FAILED, reason=reason, now=now)
        if task.fence != sandbox.fence or task.status != TaskState.ASSIGNED:
            return
        if final:
            await tasks.fail(session, context.bus, task, reason=reason, now=now, error_type="environment")
        else:
            # The agent has not started, so its work cannot be the cause.
            await tasks.give_back(
                session,
                context.bus,
                task,
                cause=EndCause.PLATFORM,
                reason=reason,
                backoff=context.backoff,
                now=now,
            )
