"""An orchestrator refuses to serve a copy of a data folder that another one uses."""

import pytest
from sqlalchemy import text

from omoi_os.db.base import Sessions, plain_url
from omoi_os.errors import SetupError
from omoi_os.health.orchestrator_presence import presence
from omoi_os.orchestrator.served_sites import check_site, serve_sites
from omoi_os.sandboxes import site_owners
from omoi_os.sandboxes.models import Site
from tests.orchestrator.conftest import MakeContext


async def absent(sessions: Sessions, owner: int) -> None:
    """Wait until the server has noticed that an orchestrator's connection is closed."""
    async with sessions.begin() as session:
        await session.execute(text("SELECT pg_advisory_xact_lock(:owner)"), {"owner": owner})


async def test_a_copy_of_a_data_folder_that_is_in_use_elsewhere_is_refused(
    sessions: Sessions, make_context: MakeContext, database_url: str
) -> None:
    context = make_context()
    async with presence(plain_url(database_url)) as owner:
        async with sessions.begin() as session:
            await site_owners.serve(session, [context.settings.site], owner=owner)
        await check_site(context)
        async with sessions.begin() as session:
            (await session.get_one(Site, context.settings.site)).host = "another-host"
        with pytest.raises(SetupError, match="another-host"):
            await check_site(context)
    await absent(sessions, owner)
    await check_site(context)
    await serve_sites(context)
