"""Which orchestrator serves each site, and which site has the repositories of the local forge.

A site is a data folder or a provider's account: only its own orchestrators can reach the sandboxes there.

Each function is one step in one transaction; the caller commits.
"""

import socket
from collections.abc import Collection, Sequence
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import SetupError
from omoi_os.projects.models import Project
from omoi_os.sandboxes.lifecycle import ALIVE
from omoi_os.sandboxes.models import Installation, Sandbox, Site
from omoi_os.tasks.models import Task

_LOCAL_FORGE = "local"


async def serve(session: AsyncSession, names: Collection[str], *, owner: int) -> None:
    """Record that the orchestrator with this presence number serves these sites now, by the database's clock."""
    for name in sorted(names):
        row = {"name": name, "host": socket.gethostname(), "owner": owner, "last_served_at": func.now()}
        new = insert(Site).values(row)
        changed = {key: new.excluded[key] for key in ("host", "owner", "last_served_at")}
        await session.execute(new.on_conflict_do_update(index_elements=[Site.name], set_=changed))


async def get(session: AsyncSession, name: str) -> Site | None:
    """Return one site, or None if no orchestrator has served it yet."""
    return await session.get(Site, name, populate_existing=True)


async def alive_elsewhere(
    session: AsyncSession, served: Collection[str]
) -> Sequence[tuple[Sandbox, Task | None, Site | None]]:
    """Return the alive sandboxes at other sites, each with its task, if it has one, and its site."""
    query = (
        select(Sandbox, Task, Site)
        .outerjoin(Task, Task.id == Sandbox.task_id)
        .outerjoin(Site, Site.name == Sandbox.site)
        .where(Sandbox.status.in_(ALIVE), Sandbox.site.not_in(served))
        .order_by(Sandbox.created_at)
    )
    return [(row[0], row[1], row[2]) for row in await session.execute(query)]


async def claim_repositories(session: AsyncSession, *, site: str, data_dir: Path) -> None:
    """Record that this data folder has the local forge's repositories. Raise `SetupError` if another one does."""
    installation = await session.get_one(Installation, 1, with_for_update=True, populate_existing=True)
    if installation.forge_site not in (None, site):
        query = select(Project.id).where(Project.forge == _LOCAL_FORGE).limit(1)
        if (await session.execute(query)).first() is not None:
            raise SetupError(
                f"the repositories of this database's projects are in the data folder {installation.forge_path} on"
                f" {installation.forge_host}, not in {data_dir}: start with that folder, or, if it is gone for good,"
                f" write {installation.forge_site} into {data_dir / 'site'}"
            )
    where = (site, socket.gethostname(), str(data_dir))
    installation.forge_site, installation.forge_host, installation.forge_path = where


async def has_repositories(session: AsyncSession, *, site: str) -> bool:
    """Return whether this data folder has the local forge's repositories."""
    query = select(Installation.forge_site).where(Installation.id == 1)
    return (await session.execute(query)).scalar_one_or_none() == site
