"""Read the rows that recovery compares, one by one if one of them is unreadable."""

from sqlalchemy.exc import SQLAlchemyError

from omoi_os.orchestrator.context import Context
from omoi_os.providers.base import SandboxProvider, SandboxRef
from omoi_os.sandboxes import repository as sandboxes_repository
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task


async def alive(context: Context, provider: SandboxProvider) -> list[tuple[Sandbox, Task | None]]:
    """Return the alive sandboxes of a provider at its site, each with its task if it has one.

    Leave out unreadable rows.
    """
    where = {"provider": provider.name, "site": provider.site}
    try:
        async with context.sessions() as session:
            return await sandboxes_repository.alive_with_tasks(session, **where)
    except (SQLAlchemyError, ValueError, TypeError):
        async with context.sessions() as session:
            ids = await sandboxes_repository.alive_ids(session, **where)
    found: list[tuple[Sandbox, Task | None]] = []
    for sandbox_id in ids:
        with context.health.isolated(f"sandbox {sandbox_id}"):
            async with context.sessions() as session:
                found += await sandboxes_repository.alive_with_tasks(session, **where, sandbox_id=sandbox_id)
    return found


async def find_ref(context: Context, row: Sandbox) -> SandboxRef | None:
    """Return the provider's name of a sandbox, or None if the provider does not have it.

    A crash between the creation and its record leaves the row without one: then the provider is asked for the
    sandbox that was created with the row's id.
    """
    if row.provider_ref is not None:
        return SandboxRef(row.provider_ref)
    async for listed in context.providers.get(row.provider).list(owner=context.installation):
        if listed.id == row.id:
            return listed.ref
    return None
