"""Create a task's branch on the forge before its first sandbox, never reusing an existing branch."""

import logging

from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.base import Forge
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work
from omoi_os.projects.addresses import repository_of
from omoi_os.tasks import repository as tasks_repository
from omoi_os.tasks import service as tasks
from omoi_os.tasks.models import Task

log = logging.getLogger(__name__)

#: How many names are tried. More than one is needed only if the chosen branch is created at the same moment.
_TRIES = 10


async def ensure_branch(context: Context, work: Work, forge: Forge) -> bool:
    """Create the task's branch under a free name and record that it belongs to the task; later attempts keep it.

    Return False if the attempt was superseded meanwhile. Raise `ForgeError` if no branch could be created.
    """
    repository = repository_of(work.project)
    if work.task.branch_created:
        await forge.create_branch(repository, work.task.branch_name or "")
        return True
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
        if not _is_current(task, work) or task.branch_created:
            return False
        work.task.branch_name = await tasks.rename_branch(session, task, work.ticket, existing=existing)
    return True


async def _record_created(context: Context, work: Work) -> bool:
    async with context.sessions() as session, session.begin():
        task = await tasks_repository.lock(session, work.task.id)
        if not _is_current(task, work):
            return False
        task.branch_created = work.task.branch_created = True
    return True


def _is_current(task: Task, work: Work) -> bool:
    return task.fence == work.sandbox.fence
