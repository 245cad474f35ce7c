"""The sites that this orchestrator serves: its data folder and the accounts of its providers."""

import socket

from omoi_os.errors import SetupError
from omoi_os.health.orchestrator_presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.sandboxes import site_owners


def own_sites(context: Context) -> set[str]:
    """Return the names of the sites that this orchestrator serves."""
    return {context.settings.site, *(provider.site for provider in context.providers)}


async def serve_sites(context: Context) -> None:
    """Record that this orchestrator serves its sites."""
    async with context.sessions() as session, session.begin():
        await site_owners.serve(session, own_sites(context), owner=context.owner)


async def check_site(context: Context) -> None:
    """Raise `SetupError` if a running orchestrator on another machine serves a copy of this data folder."""
    async with context.sessions() as session, session.begin():
        found = await site_owners.get(session, context.settings.site)
        if found is not None and found.host != socket.gethostname() and await is_present(session, found.owner):
            raise SetupError(
                f"{context.settings.data_dir} is a copy of the data folder that an orchestrator on {found.host} uses:"
                f" stop that one, or remove {context.settings.data_dir / 'site'} to start as another installation"
            )
