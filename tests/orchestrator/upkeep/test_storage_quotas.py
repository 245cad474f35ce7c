"""Storage quotas: what is over its quota starts no further task, and a warning says so."""

import hashlib
from uuid import UUID

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.health import warnings
from omoi_os.orchestrator.dispatch.dispatcher import claim, dispatch
from omoi_os.orchestrator.upkeep import storage_quotas
from omoi_os.sandboxes.artifacts import blobs
from omoi_os.sandboxes.models import Sandbox
from tests.builders import a_project, a_task, a_ticket, a_work_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext

GIB = 1024**3


async def a_project_that_stored(session: AsyncSession, size: int) -> UUID:
    project = await a_project(session)
    task = await a_task(session, MemoryBus(), await a_ticket(session, project, title="first"))
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), task, now=NOON)
    await session.execute(update(Sandbox).where(Sandbox.id == sandbox.id).values(event_bytes=size))
    await a_task(session, MemoryBus(), await a_ticket(session, project, title="next"))
    return project.id


async def test_events_blobs_and_transcripts_of_a_project_are_counted(session: AsyncSession) -> None:
    sandbox, _ = await a_work_sandbox(session, MemoryBus(), now=NOON)
    before = (await storage_quotas.stored_bytes(session))[sandbox.project_id]
    content = b"x" * 5000
    await blobs.store(session, sandbox, hashlib.sha256(content).hexdigest(), content)

    assert (await storage_quotas.stored_bytes(session))[sandbox.project_id] == before + 5000


async def test_no_task_of_a_project_over_its_quota_starts(session: AsyncSession, make_context: MakeContext) -> None:
    full = await a_project_that_stored(session, 2 * GIB)
    await a_project_that_stored(session, 0)
    await session.commit()
    context = make_context(project_storage_gb=1)

    await storage_quotas.measure(context)

    assert [work.project.id == full for work in await claim(context)] == [False]
    (warning,) = await warnings.current(session, now=context.now())
    assert (warning.key, str(full) in warning.message) == ("storage_quota", True)
    assert "OMOI_PROJECT_STORAGE_GB" in warning.message


async def test_no_task_starts_while_the_installation_is_over_its_quota(
    session: AsyncSession, make_context: MakeContext
) -> None:
    project = await a_project_that_stored(session, GIB)
    await session.commit()
    context = make_context(storage_gb=3)
    context.quotas.repositories[project] = 2 * GIB

    await storage_quotas.measure(context)
    await dispatch(context)

    assert context.quotas.all_full
    assert "OMOI_STORAGE_GB" in (await warnings.current(session, now=context.now()))[0].message
    assert not context.jobs.running("spawn")

    context.quotas.repositories.clear()
    await storage_quotas.measure(context)
    assert not context.quotas.all_full
    assert await warnings.current(session, now=context.now()) == []
