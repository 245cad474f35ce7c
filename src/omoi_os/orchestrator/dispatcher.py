"""Dispatch: claims tasks as far as there is room, and makes a sandbox for each."""

import logging
from datetime import timedelta
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import ForgeError, ProviderError, ProviderUnavailable
from omoi_os.forges.addresses import repository_of
from omoi_os.forges.registry import make_forge
from omoi_os.orchestrator import pool
from omoi_os.orchestrator.assignments import Work, budget_of, work_environment, work_spec
from omoi_os.orchestrator.context import Context
from omoi_os.projects.models import Project
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, Purpose, SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket

log = logging.getLogger(__name__)

#: How long one orchestrator may take over a step before another may take it on.
LEASE = timedelta(minutes=2)


async def dispatch(context: Context) -> None:
    """Claim what can run now and start making the sandboxes."""
    for work in await claim(context):
        context.jobs.start(f"spawn {work.sandbox.id}", partial(spawn, context, work))


async def claim(context: Context) -> list[Work]:
    """Take the next tasks, each with its sandbox's row, in one transaction: the intent is written before the act."""
    claimed: list[Work] = []
    async with context.sessions() as session:
        chosen = await tasks_repository.providers_chosen(session)
    await context.providers.prepare({*chosen, context.settings.sandbox_provider})
    async with context.sessions() as session, session.begin():
        await tasks_repository.lock_claims(session)
        room = context.settings.max_concurrent_tasks - await tasks_repository.active_count(session)
        left: dict[UUID, int] = await tasks_repository.room_by_project(session)
        while room > 0:
            full = [project_id for project_id, count in left.items() if count <= 0]
            ready = await tasks_repository.ready_tasks(session, now=context.now(), without=full, limit=room)
            if not ready:
                break
            for task, project in ready:
                if left.setdefault(project.id, int(project.settings["max_concurrent_tasks"])) > 0:
                    work = await _assign(session, context, task, project)
                    if work is None:
                        left[project.id] = 0
                        continue
                    left[project.id] -= 1
                    room -= 1
                    claimed.append(work)
    return claimed


async def _assign(session: AsyncSession, context: Context, task: Task, project: Project) -> Work | None:
    """One claim. A task whose provider cannot work here goes back to the queue, and says why."""
    now = context.now()
    ticket = await session.get_one(Ticket, task.ticket_id)
    await tasks.assign(session, context.bus, task, lease_owner=context.owner, until=now + LEASE)
    try:
        provider = context.providers.get(context.providers.name_for(project))
    except ProviderUnavailable as error:
        await tasks.give_back(session, context.bus, task, reason=str(error), backoff=context.backoff, now=now)
        return None
    origin = Origin(
        provider=provider.name,
        site=provider.site,
        model=context.settings.model_for(task.model),
        budget_usd=budget_of(context.settings, project, ticket),
        warm_ref=await pool.take(session, context, provider),
    )
    sandbox, token = await sandboxes.open_sandbox(
        session, context.bus, task, purpose=Purpose.WORK, origin=origin, now=now
    )
    task.sandbox_id = sandbox.id
    return Work(task, ticket, project, sandbox, token, provider)


async def spawn(context: Context, work: Work) -> None:
    """Branch first, then the sandbox. What fails is given back to the queue."""
    project, task = work.project, work.task
    try:
        forge = make_forge(project.forge, context.settings)
        repository = repository_of(project)
        await forge.ensure_repository(repository)
        await forge.create_branch(repository, task.branch_name or "")
        if not await _still_wanted(context, work):
            return
        ref = await _make(context, work)
    except (ForgeError, ProviderError) as error:
        log.warning("sandbox %s could not be made: %s", work.sandbox.id, error)
        await _not_made(context, work, reason=str(error))
        return
    await record_started(context, work.sandbox.id, ref)


async def _make(context: Context, work: Work) -> SandboxRef:
    """A warm sandbox is given the task; otherwise a new one is made with it."""
    if work.sandbox.door != work.sandbox.id:
        ref = SandboxRef(work.sandbox.door)
        await pool.hand_over(work.provider, ref, work_environment(context.settings, work))
        return ref
    return await work.provider.create(work_spec(context.settings, work, owner=context.installation))


async def record_started(context: Context, sandbox_id: str, ref: SandboxRef) -> None:
    """Note that the provider has it. One that was given up meanwhile is left to the reconciler, which removes it."""
    async with context.sessions() as session, session.begin():
        sandbox = await sandboxes_repository.lock(session, sandbox_id)
        if sandbox.status not in ENDED:
            await sandboxes.mark_started(session, context.bus, sandbox, provider_ref=ref, now=context.now())


async def _still_wanted(context: Context, work: Work) -> bool:
    """Whether nobody took the task over or cancelled it while we were busy: asked right before the act."""
    async with context.sessions() as session:
        task = await session.get_one(Task, work.task.id, populate_existing=True)
        sandbox = await session.get_one(Sandbox, work.sandbox.id, populate_existing=True)
        return task.fence == work.sandbox.fence and sandbox.status == SandboxState.CREATING


async def _not_made(context: Context, work: Work, *, reason: str) -> None:
    async with context.sessions() as session, session.begin():
        now = context.now()
        sandbox = await sandboxes_repository.lock(session, work.sandbox.id)
        task = await tasks_repository.lock(session, work.task.id)
        if sandbox.status in ENDED:
            return
        await sandboxes.end(session, context.bus, sandbox, state=SandboxState.FAILED, reason=reason, now=now)
        if task.fence == sandbox.fence and task.status == TaskState.ASSIGNED:
            await tasks.give_back(session, context.bus, task, reason=reason, backoff=context.backoff, now=now)
