"""Work that could not be saved when its sandbox ended: kept, retried by one orchestrator at a time, and never dropped
without a trace."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.audit.models import AuditEntry
from omoi_os.bus.postgres import PostgresBus
from omoi_os.db.base import plain_url
from omoi_os.errors import ProviderUnavailable
from omoi_os.forges.local.forge import LocalForge
from omoi_os.gateway.server import serving
from omoi_os.health import warnings
from omoi_os.health.orchestrator_presence import presence
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, work_spec
from omoi_os.orchestrator.dispatch.dispatcher import claim, record_started
from omoi_os.orchestrator.dispatch.task_branch import ensure_branch
from omoi_os.orchestrator.recovery import salvage, teardown
from omoi_os.orchestrator.recovery.reconciler import reconcile
from omoi_os.projects.addresses import repository_of
from omoi_os.protocol.events import Event, EventType
from omoi_os.protocol.paths import HOME, MIRROR
from omoi_os.providers.base import SandboxRef
from omoi_os.sandboxes import salvages
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.sandboxes.models import Sandbox, SandboxEvent, SandboxSalvage
from omoi_os.tasks.models import Task
from tests.builders import a_project, a_task, a_ticket
from tests.orchestrator.conftest import MakeContext

#: What a worker has when it is cut off in the middle: a whole checkout, and a file that is in no commit.
CHECKOUT = f"""
printf '[safe]\\n\\tdirectory = *\\n' > /tmp/config && export GIT_CONFIG_GLOBAL=/tmp/config &&
git clone -q -b "$0" -- {MIRROR} /workspace && mkdir -p {HOME}/.omoi &&
git -C /workspace rev-parse HEAD | tr -d '\\n' > {HOME}/.omoi/base && echo half > /workspace/half.py
"""


@dataclass(frozen=True)
class Lost:
    """A sandbox with uncommitted work whose worker is no more."""

    context: Context
    work: Work
    ref: SandboxRef

    @property
    def folder(self) -> Path:
        return self.context.settings.data_dir / "sandboxes" / str(self.ref)

    async def end(self, context: Context | None = None) -> None:
        context = context or self.context
        report = await context.providers.default.inspect(self.ref, wait=timedelta(seconds=10))
        assert not report.alive
        await teardown.after_end(context, self.work.sandbox, self.ref, report)

    async def retry(self) -> None:
        async with self.context.sessions.begin() as session:
            sandbox = await session.get_one(Sandbox, self.work.sandbox.id)
            await salvages.retry_now(session, self.context.bus, sandbox, now=self.context.now())
        await salvage.look_after(self.context)
        await self.context.jobs.finish("salvage ", timeout=120)

    async def salvage(self) -> SandboxSalvage:
        async with self.context.sessions() as session:
            found = await salvages.get(session, self.work.sandbox.id)
            assert found is not None
            return found

    async def task(self) -> Task:
        async with self.context.sessions() as session:
            return await session.get_one(Task, self.work.task.id)

    def saved(self, branch: str = "") -> str:
        """What the repository holds of the uncommitted file."""
        name = branch or f"wip/{self.work.task.id}"
        repository = LocalForge(self.context.settings.repositories_dir).path(repository_of(self.work.project))
        command = ["git", f"--git-dir={repository}", "show", f"{name}:half.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""


Lose = Callable[..., Awaitable[Lost]]


@pytest.fixture
async def lose(session: AsyncSession, make_context: MakeContext) -> AsyncIterator[Lose]:
    """A claimed task whose sandbox has uncommitted work, and whose supervisor is then killed."""
    contexts: list[Context] = []

    async def make(**settings: Any) -> Lost:
        context = make_context(retry_backoff_seconds=0, **settings)
        contexts.append(context)
        project = await a_project(session)
        await a_task(session, context.bus, await a_ticket(session, project))
        await session.commit()
        (work,) = await claim(context)
        forge = LocalForge(context.settings.repositories_dir)
        await forge.ensure_repository(repository_of(project))
        assert await ensure_branch(context, work, forge)
        spec = work_spec(context.settings, work, owner=context.installation)
        ref = await work.provider.create(replace(spec, argv=["/bin/sleep", "600"]))
        await record_started(context, work.sandbox.id, ref)
        async with context.sessions.begin() as other:
            started = [Event(EventType.AGENT_STARTED, {})]
            await record_events(other, context.bus, work.sandbox.id, started, now=context.now(), masker=context.masker)
        argv = ["/bin/sh", "-c", CHECKOUT, work.task.branch_name or ""]
        done = await work.provider.exec(ref, argv, timeout=timedelta(seconds=60))
        assert done.exit_code == 0, done.stderr
        lost = Lost(context, work, ref)
        state = json.loads((lost.folder / "state.json").read_text())
        os.kill(int(state["supervisor"].split()[0]), signal.SIGKILL)
        return lost

    yield make
    for context in contexts:
        await context.jobs.cancel()
        async for listed in context.providers.default.list(owner=context.installation):
            await context.providers.default.destroy(listed.ref)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait out the 45 s that a salvage may take while there is no gateway."""
    monkeypatch.setattr(salvage, "SALVAGE_TIMEOUT", timedelta(seconds=2))


@asynccontextmanager
async def gateway(lost: Lost, database_url: str) -> AsyncIterator[None]:
    """A gateway, and time enough to save something through it."""
    salvage.SALVAGE_TIMEOUT = timedelta(seconds=60)
    async with serving(lost.context.settings, database_url=database_url, bus=PostgresBus(database_url)):
        yield


async def test_work_that_could_not_be_saved_while_the_gateway_was_away_is_saved_when_it_is_back(
    lose: Lose, database_url: str
) -> None:
    lost = await lose()

    await lost.end()

    found, task = await lost.salvage(), await lost.task()
    assert (found.state, found.attempts, task.status) == ("pending", 1, "pending")
    assert "ran longer than 2 s" in (found.last_error or "")
    assert found.disk_bytes
    assert "its uncommitted work is not saved yet" in (task.error or "")
    assert await claim(lost.context) == [], "the next attempt waits"
    await salvage.look_after(lost.context)
    async with lost.context.sessions() as other:
        (warning,) = await warnings.current(other, now=lost.context.now())
    assert (warning.key, "of 1 ended sandbox is not saved" in warning.message) == ("unsaved_work", True)
    await reconcile(lost.context)
    await lost.context.jobs.finish("remove ", timeout=60)
    assert lost.folder.is_dir(), "the disk is kept although the row has ended"
    await lost.retry()
    found = await lost.salvage()
    assert (found.state, found.attempts >= 2, lost.saved()) == ("pending", True, "")

    async with gateway(lost, database_url):
        await lost.retry()

    assert ((await lost.salvage()).state, lost.saved()) == ("saved", "half")
    assert not lost.folder.exists()
    lost.context.timers.forget("unsaved work")
    await salvage.look_after(lost.context)
    async with lost.context.sessions() as other:
        assert await warnings.current(other, now=lost.context.now()) == []
    (second,) = await claim(lost.context)
    assert (second.sandbox.attempt, second.task.feedback) == (2, None)


async def test_two_orchestrators_save_a_sandbox_once_and_lose_nothing(
    lose: Lose, make_context: MakeContext, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(salvage, "PEER_PAUSE_SECONDS", 0.0)
    lost = await lose()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(gateway(lost, database_url))
        owners = [await stack.enter_async_context(presence(plain_url(database_url))) for _ in range(2)]
        both = [make_context(owner, retry_backoff_seconds=0) for owner in owners]
        await asyncio.gather(*(lost.end(context) for context in both))

    found = await lost.salvage()
    assert (found.state, found.attempts, lost.saved()) == ("saved", 1, "half")
    assert not lost.folder.exists()


async def test_only_the_orchestrator_with_the_lease_renews_the_token(
    lose: Lose, make_context: MakeContext, database_url: str
) -> None:
    lost = await lose()
    async with presence(plain_url(database_url)) as first, presence(plain_url(database_url)) as second:
        one, two = make_context(first), make_context(second)
        assert await salvage.begin(one, lost.work.sandbox) is salvage.Turn.OURS
        assert await salvage.begin(two, lost.work.sandbox) is salvage.Turn.THEIRS
        before = lost.work.sandbox.token_hash
        with pytest.raises(ProviderUnavailable, match="another orchestrator"):
            await salvage.run(two, lost.work.sandbox, lost.ref, renewed=True)
        async with two.sessions() as session:
            assert (await session.get_one(Sandbox, lost.work.sandbox.id)).token_hash == before
    # The first one is gone: the second takes over at once.
    assert await salvage.begin(two, lost.work.sandbox) is salvage.Turn.OURS


@pytest.mark.parametrize("killed", ["with the lease", "after a failed try", "after a good try", "before the removal"])
async def test_an_orchestrator_killed_between_two_steps_loses_nothing(
    lose: Lose, make_context: MakeContext, database_url: str, killed: str
) -> None:
    lost = await lose()
    dead, row = make_context(owner=77), lost.work.sandbox
    async with gateway(lost, database_url):
        assert await salvage.begin(dead, row) is salvage.Turn.OURS
        if killed == "after a failed try":
            await salvage.note(dead, row, "the gateway did not answer")
        elif killed != "with the lease":
            assert await salvage.run(dead, row, lost.ref, renewed=True) is None
            await salvage.note(dead, row, None)
        if killed == "before the removal":
            async with dead.sessions.begin() as session:
                values = {"status": "lost", "ended_at": dead.now()}
                await session.execute(update(Sandbox).where(Sandbox.id == row.id).values(values))
            await reconcile(lost.context)
            await lost.context.jobs.finish("remove ", timeout=60)
        else:
            await lost.end()

    assert ((await lost.salvage()).state, lost.saved()) == ("saved", "half")
    assert not lost.folder.exists()


@pytest.mark.parametrize("limit", ["age", "space"])
async def test_beyond_the_limit_kept_work_is_dropped_with_an_audit_entry(
    lose: Lose, session: AsyncSession, limit: str
) -> None:
    lost = await lose(**({"salvage_keep_gb": 0} if limit == "space" else {}))
    await lost.end()
    kept = await lost.salvage()
    if limit == "age":
        await salvage.look_after(lost.context)
        await lost.context.jobs.finish("salvage ", timeout=120)
        assert (await lost.salvage()).state == "pending", "within the limits it is kept"
        old = kept.created_at - timedelta(hours=73)
        await session.execute(update(SandboxSalvage).values(created_at=old))
        await session.commit()

    await salvage.look_after(lost.context)
    await reconcile(lost.context)
    await lost.context.jobs.finish("remove ", timeout=60)

    assert (await lost.salvage()).state == "dropped"
    assert not lost.folder.exists()
    (entry,) = (await session.execute(select(AuditEntry))).scalars()
    assert (entry.kind, entry.actor_kind, entry.subject) == (
        "unsaved_work_dropped",
        "platform",
        lost.work.sandbox.id,
    )
    assert ("OMOI_SALVAGE_KEEP_HOURS" if limit == "age" else "OMOI_SALVAGE_KEEP_GB") in entry.detail
    assert await claim(lost.context), "nothing is left to wait for"


async def test_an_attempt_that_could_not_wait_says_so_and_the_late_work_gets_a_branch_of_its_own(
    lose: Lose, session: AsyncSession, database_url: str
) -> None:
    lost = await lose(salvage_wait_seconds=0)
    await lost.end()

    (second,) = await claim(lost.context)
    await salvage.look_after(lost.context)

    assert lost.work.sandbox.id in (second.task.feedback or "")
    created = (await session.execute(select(SandboxEvent).where(SandboxEvent.sandbox_id == second.sandbox.id))).scalar()
    assert created is not None
    assert created.event_data["unsaved_work_of"] == [lost.work.sandbox.id]
    assert (await lost.salvage()).state == "kept"
    async with gateway(lost, database_url):
        await lost.retry()
    assert (await lost.salvage()).state == "saved"
    assert (lost.saved(f"wip/{lost.work.task.id}-1"), lost.saved()) == ("half", "")
