"""Dispatch: claims tasks as far as there is room, and makes a sandbox for each."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import ForgeError, ProviderError, ProviderUnavailable, RepositoryDamaged
from omoi_os.forges.registry import make_forge
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch import branches
from omoi_os.orchestrator.dispatch import warm_pool as pool
from omoi_os.orchestrator.dispatch.assignments import Work, budget_of, shown_environment, work_environment, work_spec
from omoi_os.orchestrator.providers import RETRY_SECONDS
from omoi_os.orchestrator.upkeep import prepared_checkouts as checkouts
from omoi_os.orchestrator.upkeep import repository_damage as repositories
from omoi_os.orchestrator.upkeep.free_space import has_room
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project
from omoi_os.projects.values import DEFAULT_CONCURRENCY, number_of
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import salvages
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks import turns
from omoi_os.tasks.lifecycle import EndCause, TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.turns import Ready

log = logging.getLogger(__name__)

#: How long one orchestrator may take over a step before another may take it on.
LEASE = timedelta(minutes=2)
#: How long a task waits whose provider cannot work here now.
PROVIDER_PAUSE = timedelta(seconds=RETRY_SECONDS)
#: How long a task that could not even be claimed is left alone, so that the rest of its project goes on.
REST = timedelta(minutes=1)


async def dispatch(context: Context) -> None:
    """Claim what can run now and start making the sandboxes. Without free space nothing is claimed."""
    if not await has_room(context) or context.quotas.all_full:
        return
    for work in await claim(context):
        context.watch.note("claim")
        context.jobs.start(f"spawn {work.sandbox.id}", partial(spawn, context, work))


async def claim(context: Context) -> list[Work]:
    """Take the next tasks, each with its sandbox's row, in one transaction: the intent is written before the act."""
    claimed, unknown = await _claim(context)
    if unknown:
        await context.providers.prepare(unknown)
        claimed += (await _claim(context))[0]
    return claimed


async def _claim(context: Context) -> tuple[list[Work], set[str]]:
    """What was claimed, and the providers that have to be made before more can be."""
    claimed: list[Work] = []
    unknown: set[str] = set()
    left_out: set[UUID] = set(context.quotas.full)
    async with context.sessions() as session, session.begin():
        await tasks_repository.lock_claims(session)
        # Others may be behind the tasks of projects that had no room for all of them, or that are left out.
        while await _claim_some(session, context, claimed, unknown, left_out):
            pass
        if claimed:
            await turns.record_turns(session, {work.project.id for work in claimed}, now=context.now())
    return claimed, unknown


async def _claim_some(
    session: AsyncSession, context: Context, claimed: list[Work], unknown: set[str], left_out: set[UUID]
) -> bool:
    """Claim what fits of the next candidates. Return whether a further look may find more."""
    limit = context.settings.max_concurrent_tasks
    ready = await turns.ready_tasks(session, now=context.now(), without=left_out, limit=limit)
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
        room = limit - each.active - taken.total()
        room_in_project = (
            number_of(project, "max_concurrent_tasks", DEFAULT_CONCURRENCY) - each.active_in_project - taken[project.id]
        )
        if room <= 0 or room_in_project <= 0 or project.id in newly_left_out:
            continue
        work = await _assign_apart(session, context, each)
        if work is None:
            newly_left_out.add(project.id)
            continue
        taken[project.id] += 1
        claimed.append(work)
    left_out |= newly_left_out
    passed_over = len(ready) - taken.total()
    return bool(passed_over and (taken or newly_left_out) and ready[0].active + taken.total() < limit)


def _provider_of(context: Context, project: Project) -> str | None:
    """The name of the provider for a project; None if its settings make no sense, which concerns no other project."""
    with context.health.isolated(f"project {project.id}"):
        return context.providers.name_for(project)
    return None


async def _assign_apart(session: AsyncSession, context: Context, ready: Ready) -> Work | None:
    """One claim that fails without the others: a task that cannot be claimed is left alone for a while."""
    task_id = ready.task.id
    with context.health.isolated(f"task {task_id}"):
        async with session.begin_nested():
            return await _assign(session, context, ready)
    later = {"not_before": context.now() + REST}
    await session.execute(update(Task).where(Task.id == task_id).values(later))
    return None


async def _assign(session: AsyncSession, context: Context, ready: Ready) -> Work | None:
    """One claim. A task whose provider cannot work here goes back to the queue, and says why."""
    now = context.now()
    task, ticket, project = ready.task, ready.ticket, ready.project
    only_of = ticket if ready.alone else None
    try:
        provider = context.providers.get(context.providers.name_for(project))
    except ProviderUnavailable as error:
        # No sandbox was created, so nothing is used up; the provider itself is asked again no sooner than this.
        await tasks.postpone(session, context.bus, task, reason=str(error), until=now + PROVIDER_PAUSE)
        return None
    await tasks.assign(session, context.bus, task, lease_owner=context.owner, until=now + LEASE, only_of=only_of)
    unsaved = await salvages.unsaved_of_task(session, task) if task.fence > 1 else ()
    if unsaved:
        _tell_unsaved(task, unsaved)
    origin = Origin(
        provider=provider.name,
        site=provider.site,
        model=context.settings.model_for(task.model),
        budget_usd=budget_of(context.settings, project, ticket),
        unsaved_work_of=tuple(unsaved),
        warm=await pool.take(session, context, provider) if context.settings.warm_sandboxes else None,
    )
    sandbox, token = await sandboxes.open_sandbox(
        session, context.bus, task, purpose=Purpose.WORK, origin=origin, now=now
    )
    task.sandbox_id = sandbox.id
    return Work(task, ticket, project, sandbox, token, provider)


def _tell_unsaved(task: Task, unsaved: Sequence[str]) -> None:
    """Tell the next attempt that it starts without the uncommitted work of an earlier one."""
    told = (
        f"The uncommitted work of an earlier attempt ({', '.join(unsaved)}) could not be saved yet and is not in this "
        f"checkout. Once it is saved, it is on a branch of its own, wip/{task.id}-<attempt>."
    )
    if told not in (task.feedback or ""):
        task.feedback = f"{task.feedback}\n\n{told}" if task.feedback else told


async def spawn(context: Context, work: Work) -> None:
    """Branch first, then the sandbox. What fails is given back to the queue."""
    project = work.project
    try:
        forge = make_forge(project.forge, context.settings)
        repository = repository_of(project)
        async with _kept_lease(context, work):
            await forge.ensure_repository(repository)
            await repositories.require_whole(context, project)
            if not await branches.ensure_branch(context, work, forge) or not await _still_wanted(context, work):
                return
            ref = await _make(context, work)
    except RepositoryDamaged as error:
        log.warning("task %s cannot go on: %s", work.task.id, error)
        await _not_made(context, work, reason=str(error), final=True)
        return
    except (ForgeError, ProviderError) as error:
        log.warning("sandbox %s could not be made: %s", work.sandbox.id, error)
        await _not_made(context, work, reason=str(error))
        return
    except Exception as error:
        log.warning("sandbox %s could not be made", work.sandbox.id, exc_info=True)
        await _not_made(context, work, reason=f"its sandbox could not be made: {type(error).__name__}: {error}")
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


async def _make(context: Context, work: Work) -> SandboxRef:
    """Give the task to the warm sandbox that was claimed for it; without one, create a sandbox."""
    if work.sandbox.provider_ref is not None:
        ref = SandboxRef(work.sandbox.provider_ref)
        await pool.hand_over(work.provider, ref, work_environment(context.settings, work))
        return ref
    return await work.provider.create(work_spec(context.settings, work, owner=context.installation))


async def record_started(
    context: Context, sandbox_id: str, ref: SandboxRef, *, environment: Mapping[str, str] | None = None
) -> None:
    """Note that the provider has it, and what of its environment may be shown, where that is known.

    One that was given up meanwhile is left to the reconciler, which removes it.
    """
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        if sandbox.status not in ENDED:
            told = {} if environment is None else {"environment": dict(environment)}
            await sandboxes.mark_started(session, context.bus, sandbox, provider_ref=ref, told=told, now=context.now())


async def _still_wanted(context: Context, work: Work) -> bool:
    """Whether nobody took the task over or cancelled it while we were busy: asked right before the act."""
    async with context.sessions() as session:
        query = select(Task.fence, Sandbox.status).join(Sandbox, Sandbox.task_id == Task.id)
        fence, status = (await session.execute(query.where(Sandbox.id == work.sandbox.id))).one()
        return bool(fence == work.sandbox.fence and status == SandboxState.CREATING)


async def _not_made(context: Context, work: Work, *, reason: str, final: bool = False) -> None:
    """End the sandbox's row and give the task back, or fail it if another attempt would change nothing."""
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
            # The agent has not started: whatever is wrong is not its work.
            await tasks.give_back(
                session,
                context.bus,
                task,
                cause=EndCause.PLATFORM,
                reason=reason,
                backoff=context.backoff,
                now=now,
            )
