"""Sandboxes that wait for a task are used under their provider's own names."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch import warm_pool
from omoi_os.orchestrator.dispatch.assignments import Work, work_environment
from omoi_os.orchestrator.dispatch.dispatcher import claim
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes.models import Sandbox, WarmSandbox
from tests.builders import a_project, a_task, a_ticket
from tests.orchestrator.conftest import MakeContext
from tests.orchestrator.renaming import Renaming


@pytest.fixture
async def context(make_context: MakeContext) -> AsyncIterator[Context]:
    made = make_context(warm_sandboxes=1)
    settings = made.settings
    provider = Renaming(settings.data_dir / "sandboxes", site=lambda: settings.site)
    made.providers.add(provider)
    yield made
    await made.jobs.cancel()
    async for listed in provider.list(owner=made.installation):
        await provider.destroy(listed.ref)


async def _claimed(session: AsyncSession, context: Context) -> Work:
    await a_task(session, context.bus, await a_ticket(session, await a_project(session)))
    await session.commit()
    (work,) = await claim(context)
    return work


async def test_a_sandbox_that_is_not_created_yet_is_not_taken(session: AsyncSession, context: Context) -> None:
    provider = context.providers.default
    waiting = WarmSandbox(id="omoios-warm-1", provider=provider.name, site=provider.site, owner=context.owner)
    session.add(waiting)
    await session.flush()
    assert await warm_pool.take(session, context, provider) is None

    waiting.provider_ref = "moon-omoios-warm-1"
    await session.commit()
    work = await _claimed(session, context)

    async with context.sessions() as other:
        row = await other.get_one(Sandbox, work.sandbox.id)
    assert (row.provider_ref, row.gateway_socket) == ("moon-omoios-warm-1", "omoios-warm-1")
    assert (await session.execute(select(WarmSandbox.id))).all() == []


async def test_a_waiting_sandbox_accepts_its_task_under_its_providers_name(
    session: AsyncSession, context: Context
) -> None:
    await warm_pool.refill(context)
    await context.jobs.finish("warm ", timeout=60)
    (warm,) = (await session.execute(select(WarmSandbox))).scalars()
    assert warm.provider_ref == f"moon-{warm.id}"

    work = await _claimed(session, context)

    assert work.sandbox.provider_ref == warm.provider_ref
    ref = SandboxRef(work.sandbox.provider_ref or "")
    await warm_pool.hand_over(work.provider, ref, work_environment(context.settings, work))
