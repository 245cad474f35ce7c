"""Create a task's branch on the forge before its first sandbox, never reusing an existing branch."""

import logging

from sqlalchemy import ColumnElement, select, update

from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.base import Forge
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work
from omoi_os.projects.addresses import repository_of
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: How many names are tried. More than one is needed only if the chosen branch is created at the same moment.
_TRIES = 10


async def ensure_branch(context: Context, work: Work, forge: Forge) -> bool:
    """Create the task's branch under a free name and record that it belongs to the task; later attempts keep it.

    Return whether the sandbox is still wanted, asked last: False after a cancellation, or if another attempt has
    superseded this one. Raise `ForgeError` if no branch could be created.
    """
    repository = repository_of(work.project)
    if work.task.branch_created:
        await forge.create_branch(repository, work.task.branch_name or "")
        return await _is_wanted(context, work)
    for _ in range(_TRIES):
        name = work.task.branch_name or ""
        try:
            await forge.create_branch(repository, name, task_id=work.task.id)
        except BranchTaken as taken:
            if not await _rename(context, work, taken.existing):
                return False
            log.info("task %s: branch %s is taken; using %s", work.task.id, name, work.task.branch_name)
            continue
        return await _record_created(context, work)
    raise ForgeError(f"no free branch name was found for task {work.task.id}: {_TRIES} names were taken; retry it")


async def _rename(context: Context, work: Work, existing: frozenset[str]) -> bool:
    """Store a new name before its branch is created, so that the task continues with it after a crash."""
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, work.task.id)
        if task.fence != work.sandbox.fence or task.branch_created:
            return False
        work.task.branch_name = await tasks.rename_branch(session, task, work.ticket, existing=existing)
    return True


async def _record_created(context: Context, work: Work) -> bool:
    """Record that the branch exists and return whether the sandbox is still wanted, in one statement."""
    async with context.sessions() as session, session.begin():
        recorded = update(Task).where(*_wanted(work)).values(branch_created=True).returning(Task.id)
        if (await session.execute(recorded, execution_options={"synchronize_session": False})).first() is None:
            return False
    work.task.branch_created = True
    return True


async def _is_wanted(context: Context, work: Work) -> bool:
    async with context.sessions() as session:
        return (await session.execute(select(Task.id).where(*_wanted(work)))).first() is not None


def _wanted(work: Work) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions under which the claim is still valid: no other attempt, no cancellation."""
    return (
        Task.id == work.task.id,
        Task.fence == work.sandbox.fence,
        Sandbox.task_id == Task.id,
        Sandbox.id == work.sandbox.id,
        Sandbox.status == SandboxState.CREATING,
    )
