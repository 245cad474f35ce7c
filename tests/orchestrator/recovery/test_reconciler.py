"""Rows and sandboxes belong together by the provider's own names, also when a crash left a name unrecorded."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, work_spec
from omoi_os.orchestrator.dispatch.dispatcher import claim, record_started
from omoi_os.orchestrator.recovery import sandbox_rows
from omoi_os.orchestrator.recovery.reaper import reap
from omoi_os.orchestrator.recovery.reconciler import reconcile
from omoi_os.protocol.events import EventType
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import ENDED, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox, SandboxEvent
from omoi_os.tasks.models import Task
from tests.builders import a_project, a_task, a_ticket
from tests.orchestrator.conftest import MakeContext
from tests.orchestrator.renaming import Renaming


@pytest.fixture
async def context(make_context: MakeContext) -> AsyncIterator[Context]:
    made = make_context()
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


async def _created(session: AsyncSession, context: Context) -> tuple[Work, SandboxRef]:
    """A claimed task whose sandbox exists at the provider, with nothing recorded in its row."""
    work = await _claimed(session, context)
    spec = replace(
        work_spec(context.settings, work, owner=context.installation), argv=["/bin/sleep", "600"], mirror=None
    )
    return work, await work.provider.create(spec)


async def _reconciled(context: Context) -> None:
    """Reconcile, and wait for everything but the watching of sandboxes that stay alive."""
    await reconcile(context)
    for kind in ("adopt ", "end ", "remove "):
        await context.jobs.finish(kind, timeout=60)


async def _row(context: Context, work: Work) -> Sandbox:
    async with context.sessions() as session:
        return await session.get_one(Sandbox, work.sandbox.id)


async def _listed(context: Context) -> list[str]:
    return [listed.ref async for listed in context.providers.default.list(owner=context.installation)]


async def _count_started(context: Context, work: Work) -> int:
    query = select(SandboxEvent).where(
        SandboxEvent.sandbox_id == work.sandbox.id, SandboxEvent.event_type == EventType.SANDBOX_STARTED
    )
    async with context.sessions() as session:
        return len((await session.execute(query)).all())


async def test_a_sandbox_is_used_under_its_providers_name(session: AsyncSession, context: Context) -> None:
    work, ref = await _created(session, context)
    await record_started(context, work.sandbox.id, ref)

    await _reconciled(context)
    await reap(context)
    await context.jobs.finish("usage", timeout=60)

    row = await _row(context, work)
    assert (row.provider_ref, row.status) == (f"moon-{work.sandbox.id}", SandboxState.RUNNING)
    assert row.memory_bytes is not None
    assert await _listed(context) == [ref]


async def test_a_sandbox_whose_creation_was_not_recorded_is_found_by_its_id(
    session: AsyncSession, context: Context
) -> None:
    work, ref = await _created(session, context)
    assert (await _row(context, work)).provider_ref is None

    assert await sandbox_rows.find_ref(context, work.sandbox) == ref
    for _ in range(2):
        await _reconciled(context)

    row = await _row(context, work)
    assert (row.provider_ref, row.status) == (ref, SandboxState.RUNNING)
    assert await _listed(context) == [ref]
    assert await _count_started(context, work) == 1


async def test_an_unrecorded_sandbox_that_is_to_stop_is_recorded_and_destroyed(
    session: AsyncSession, context: Context
) -> None:
    work, ref = await _created(session, context)
    async with context.sessions.begin() as other:
        sandbox = await other.get_one(Sandbox, work.sandbox.id)
        await sandboxes.request_stop(other, context.bus, sandbox, cause=StopCause.PERSON, reason="stopped")

    await _reconciled(context)

    row = await _row(context, work)
    assert row.provider_ref == ref
    assert row.status in ENDED
    assert await _listed(context) == []


async def test_an_orphaned_sandbox_is_removed_with_its_gateway_folder(session: AsyncSession, context: Context) -> None:
    work, _ = await _created(session, context)
    folder = context.settings.gateway_sockets_dir / work.sandbox.id
    assert folder.is_dir()
    await session.execute(
        update(Sandbox).where(Sandbox.id == work.sandbox.id).values(status=SandboxState.LOST, ended_at=context.now())
    )
    await session.execute(update(Task).values(sandbox_id=None))
    await session.commit()

    await _reconciled(context)

    assert await _listed(context) == []
    assert not folder.exists()
