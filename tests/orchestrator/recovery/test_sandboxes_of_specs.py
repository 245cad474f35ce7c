"""The orchestrator watches, reaps, stops and tears down a sandbox that serves a spec, without a task."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.masking import Masker
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import make_spec
from omoi_os.orchestrator.main import stop_all
from omoi_os.orchestrator.recovery.reaper import Age, overdue, reap
from omoi_os.orchestrator.recovery.reconciler import reconcile
from omoi_os.orchestrator.recovery.salvage import look_after
from omoi_os.orchestrator.recovery.unreachable_sandboxes import attend_sites
from omoi_os.protocol.events import Event, EventType
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.lifecycle import SalvageState, SandboxState, StopCause
from omoi_os.sandboxes.models import Sandbox, SandboxSalvage
from tests.builders import a_spec_sandbox
from tests.conftest import NOON
from tests.orchestrator.conftest import MakeContext
from tests.orchestrator.renaming import Renaming

_SLEEP = ["/bin/sleep", "600"]


@pytest.fixture
async def context(make_context: MakeContext) -> AsyncIterator[Context]:
    made = make_context()
    provider = Renaming(made.settings.data_dir / "sandboxes", site=lambda: made.settings.site)
    made.providers.add(provider)
    yield made
    await made.jobs.cancel()
    async for listed in provider.list(owner=made.installation):
        await provider.destroy(listed.ref)


async def _created(
    session: AsyncSession, context: Context, *, argv: list[str] = _SLEEP, **fields: Any
) -> tuple[Sandbox, SandboxRef]:
    """A sandbox that exists at the provider and whose creation is recorded."""
    provider, now = context.providers.default, datetime.now(UTC)
    values = {"provider": provider.name, "site": provider.site} | fields
    sandbox, _ = await a_spec_sandbox(session, now=now, **values)
    spec = make_spec(context.settings, provider, sandbox_id=sandbox.id, owner=context.installation, argv=argv, env={})
    ref = await provider.create(replace(spec, mirror=None))
    await sandboxes.mark_started(session, context.bus, sandbox, provider_ref=ref, now=now)
    await session.commit()
    return sandbox, ref


async def _reconciled(context: Context) -> None:
    await reconcile(context)
    for kind in ("adopt ", "end ", "remove "):
        await context.jobs.finish(kind, timeout=60)


async def _reaped(context: Context) -> None:
    await reap(context)
    await context.jobs.finish("usage", "ask the API", timeout=60)


async def _row(context: Context, sandbox: Sandbox) -> Sandbox:
    async with context.sessions() as session:
        return await session.get_one(Sandbox, sandbox.id)


async def _salvage(context: Context, sandbox: Sandbox) -> SandboxSalvage | None:
    async with context.sessions() as session:
        return await session.get(SandboxSalvage, sandbox.id)


async def _listed(context: Context) -> list[str]:
    return [listed.ref async for listed in context.providers.default.list(owner=context.installation)]


async def _say(session: AsyncSession, context: Context, sandbox: Sandbox, *kinds: str) -> None:
    events = [Event(kind, {}) for kind in kinds]
    await record_events(session, context.bus, sandbox.id, events, now=context.now(), masker=Masker())
    await session.commit()


async def test_a_running_one_is_watched_measured_and_left_alone(session: AsyncSession, context: Context) -> None:
    sandbox, ref = await _created(session, context)

    await _reconciled(context)
    await _reaped(context)

    row = await _row(context, sandbox)
    assert (row.status, row.end_reason) == (SandboxState.RUNNING, None)
    assert row.memory_bytes is not None
    assert context.jobs.running(f"watch {sandbox.id}")
    assert await _listed(context) == [ref]


async def test_a_stopped_one_is_ended_and_destroyed(session: AsyncSession, context: Context) -> None:
    sandbox, _ = await _created(session, context)
    await sandboxes.request_stop(session, context.bus, sandbox, cause=StopCause.PERSON, reason="stopped by ada")
    await session.commit()

    await _reconciled(context)

    row = await _row(context, sandbox)
    assert (row.status, row.end_reason) == (SandboxState.STOPPED, "stopped by ada")
    # Its agent never started, so there is nothing to save.
    assert await _salvage(context, sandbox) is None
    assert await _listed(context) == []


@pytest.mark.parametrize(
    ("said", "status"),
    [((EventType.AGENT_STARTED, EventType.AGENT_COMPLETED), "stopped"), ((EventType.AGENT_STARTED,), "lost")],
)
async def test_one_whose_worker_exits_is_ended_by_what_it_reported(
    session: AsyncSession, context: Context, said: tuple[str, ...], status: str
) -> None:
    sandbox, _ = await _created(session, context, argv=["/bin/sh", "-c", "read -r line < /tmp/never || exit 0"])
    await _say(session, context, sandbox, *said)

    await _reconciled(context)
    await context.jobs.finish("watch ", timeout=60)

    assert (await _row(context, sandbox)).status == status
    assert await _listed(context) == []


async def test_one_that_the_provider_does_not_have_is_lost(session: AsyncSession, context: Context) -> None:
    sandbox, ref = await _created(session, context)
    await context.providers.default.destroy(ref)

    await _reconciled(context)

    row = await _row(context, sandbox)
    assert (row.status, row.end_reason) == (SandboxState.LOST, "the sandbox disappeared")


async def test_work_that_cannot_be_saved_is_kept_until_it_is_given_up(session: AsyncSession, context: Context) -> None:
    sandbox, ref = await _created(session, context)
    await _say(session, context, sandbox, EventType.AGENT_STARTED)
    await sandboxes.request_stop(session, context.bus, sandbox, cause=StopCause.REAPED, reason="stuck")
    await session.commit()

    await _reconciled(context)

    # No worker ever started in it, so the salvage program finds no assignment.
    kept = await _salvage(context, sandbox)
    assert kept is not None
    assert (kept.state, kept.attempts > 0, bool(kept.last_error)) == (SalvageState.PENDING, True, True)
    assert (await _row(context, sandbox)).status == SandboxState.LOST
    assert await _listed(context) == [ref]

    # No next attempt waits for it.
    await look_after(context)
    await context.jobs.finish("salvage ", timeout=60)
    assert (kept := await _salvage(context, sandbox)) is not None
    assert kept.state == SalvageState.KEPT

    await look_after(replace(context, settings=context.settings.model_copy(update={"salvage_keep_hours": 0.0})))
    await _reconciled(context)

    assert (kept := await _salvage(context, sandbox)) is not None
    assert kept.state == SalvageState.DROPPED
    assert await _listed(context) == []


@pytest.mark.parametrize(("minutes", "stopped"), [(14, False), (16, True)])
async def test_one_that_does_nothing_is_stuck(
    session: AsyncSession, make_context: MakeContext, minutes: int, stopped: bool
) -> None:
    sandbox, _ = await a_spec_sandbox(session, now=NOON, status=SandboxState.RUNNING)

    reason = overdue(make_context(), sandbox, None, Age.at(sandbox, NOON + timedelta(minutes=minutes)))

    assert (reason is not None) is stopped
    assert reason is None or reason.startswith("stuck")


async def test_a_stuck_one_is_asked_to_stop(session: AsyncSession, context: Context) -> None:
    sandbox, _ = await _created(session, context)
    sandbox.event_bytes = context.settings.sandbox_events_mb << 20
    await session.commit()

    await _reaped(context)

    row = await _row(context, sandbox)
    assert (row.status, row.stop_cause) == (SandboxState.STOPPING, StopCause.REAPED)


async def test_the_stop_of_the_platform_stops_it(session: AsyncSession, context: Context) -> None:
    sandbox, _ = await _created(session, context)

    await stop_all(context)

    row = await _row(context, sandbox)
    assert (row.status, row.stop_cause) == (SandboxState.STOPPED, StopCause.PLATFORM_STOPS)
    assert await _listed(context) == []


async def test_one_at_a_site_that_nobody_serves_is_lost(session: AsyncSession, make_context: MakeContext) -> None:
    context = make_context(site_lost_after_seconds=0.2)
    sandbox, _ = await a_spec_sandbox(session, now=NOON, site="0123456789abcdef", status=SandboxState.RUNNING)
    await session.commit()

    async with asyncio.timeout(30):
        while (row := await _row(context, sandbox)).ended_at is None:
            await attend_sites(context)
            await context.jobs.finish("", timeout=30)

    assert row.status == SandboxState.LOST
    assert "no orchestrator has served its data folder" in str(row.end_reason)
