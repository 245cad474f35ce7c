"""Examines the mirrors on this machine, so that a damaged one is reported once instead of failing task after task."""

import logging
from functools import partial
from uuid import UUID

from sqlalchemy import select

from omoi_os.errors import ForgeError, RepositoryDamaged
from omoi_os.forges.registry import make_mirrors
from omoi_os.health import warnings
from omoi_os.orchestrator.context import Context
from omoi_os.projects.addresses import repository_of
from omoi_os.projects.models import Project

log = logging.getLogger(__name__)

KEY = "repository_damaged"
#: How long a repository that was found whole is not examined again before a task.
TRUST_SECONDS = 60.0
#: How often all repositories are examined, and the damaged ones, so that their warnings stay.
ALL_SECONDS = 3600.0
DAMAGED_SECONDS = 120.0


async def require_whole(context: Context, project: Project) -> None:
    """Raise `RepositoryDamaged` if the project's repository is damaged."""
    name = f"repository {project.id}"
    if context.timers.since(name) < TRUST_SECONDS:
        return
    if found := await _examine(context, project):
        raise RepositoryDamaged(found)
    context.timers.note(name)


async def examine_repositories(context: Context) -> None:
    """Start examining all repositories periodically, and the damaged ones more often."""
    if context.timers.is_due("examine repositories", every=ALL_SECONDS):
        context.jobs.start("examine repositories", partial(_examine_each, context, None))
    elif context.timers.is_due("examine damaged repositories", every=DAMAGED_SECONDS):
        context.jobs.start("examine repositories", partial(_examine_each, context, "damaged"))


async def _examine_each(context: Context, which: str | None) -> None:
    async with context.sessions() as session:
        query = select(Project.id).where(Project.deleted_at.is_(None))
        if which is not None:
            query = query.where(Project.id.in_(await _damaged(context)))
        ids = (await session.execute(query)).scalars().all()
    for project_id in ids:
        with context.health.isolated(f"repository of project {project_id}"):
            async with context.sessions() as session:
                project = await session.get_one(Project, project_id)
            await _examine(context, project)


async def _damaged(context: Context) -> list[UUID]:
    """Return the projects whose repository was reported as damaged."""
    async with context.sessions() as session:
        return [UUID(source) for source in await warnings.sources(session, key=KEY)]


async def _examine(context: Context, project: Project) -> str | None:
    """Return what is damaged in a project's repository, as a sentence that is also stored as a warning, or None."""
    try:
        damage = await make_mirrors(project.forge, context.settings).damage(repository_of(project))
    except ForgeError as error:
        log.info("the repository of project %s could not be examined: %s", project.id, error)
        return None
    source = str(project.id)
    async with context.sessions() as session, session.begin():
        if damage is None:
            await warnings.clear(session, key=KEY, source=source)
            return None
        message = (
            f"the repository of project {project.name!r} ({project.id}) is damaged: {damage}; "
            "restore it from a backup or a clone, then retry its tasks"
        )
        await warnings.report(session, key=KEY, source=source, message=message, now=context.now())
        return message
