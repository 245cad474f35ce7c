"""The warm pool: sandboxes that wait for the next task with the agent's SDK loaded. Each is used once."""

import json
import logging
import secrets
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.health.orchestrator_presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import make_spec
from omoi_os.protocol.paths import HOME
from omoi_os.providers.base import SandboxProvider, SandboxRef
from omoi_os.sandboxes.models import WarmSandbox
from omoi_os.sandboxes.service import Warm
from omoi_os.worker.command import handover_argv, worker_argv

log = logging.getLogger(__name__)

HANDOVER_TIMEOUT = timedelta(seconds=30)
#: A waiting sandbox is replaced at this age: its lifetime has to last for the task as well.
MAX_AGE = timedelta(minutes=30)

#: The least time between two refills, so that a pool that cannot be filled costs little.
REFILL_SECONDS = 1.0
#: How long no sandbox is added after a claim: it would compete for the processors with the one that just started.
REST_SECONDS = 3.0

#: The whole environment of a waiting sandbox: nothing of a task, and no token.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "TERM": "dumb"}


async def take(session: AsyncSession, context: Context, provider: SandboxProvider) -> Warm | None:
    """Remove the oldest waiting sandbox of this orchestrator from the pool and return it; None if there is none."""
    oldest = (
        select(WarmSandbox.id)
        .where(
            WarmSandbox.owner == context.owner,
            WarmSandbox.provider == provider.name,
            WarmSandbox.provider_ref.is_not(None),
        )
        .order_by(WarmSandbox.created_at)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    query = delete(WarmSandbox).where(WarmSandbox.id == oldest).returning(WarmSandbox.id, WarmSandbox.provider_ref)
    taken = (await session.execute(query)).one_or_none()
    return Warm(taken.id, taken.provider_ref) if taken is not None and taken.provider_ref is not None else None


async def hand_over(provider: SandboxProvider, ref: SandboxRef, environment: Mapping[str, str]) -> None:
    """Give a waiting sandbox its task. Raises `ProviderError` if it does not accept it."""
    argv = handover_argv(provider.runtime.python, provider.runtime.source)
    document = json.dumps(dict(environment)).encode()
    try:
        result = await provider.exec(ref, argv, stdin=document, timeout=HANDOVER_TIMEOUT)
    except TimeoutError:
        raise ProviderUnavailable(f"the warm sandbox {ref} did not accept its task in time") from None
    if result.exit_code != 0:
        said = result.stderr.decode(errors="replace").strip()[-500:]
        raise ProviderError(f"the warm sandbox {ref} did not accept its task: {said or result.exit_code}")


async def refill(context: Context) -> None:
    """Start creating the sandboxes that the pool lacks, and drop those that are too old."""
    wanted = context.settings.warm_sandboxes
    if not wanted or context.timers.since("claim") < REST_SECONDS:
        return
    if not context.timers.is_due("refill", every=REFILL_SECONDS):
        return
    async with context.sessions() as session, session.begin():
        own = WarmSandbox.owner == context.owner
        old = await session.execute(
            delete(WarmSandbox).where(own, WarmSandbox.created_at < context.now() - MAX_AGE).returning(WarmSandbox.id)
        )
        for warm_id in old.scalars():
            log.info("warm sandbox %s is old and is replaced", warm_id)
        have = (await session.execute(select(func.count()).select_from(WarmSandbox).where(own))).scalar_one()
    for number in range(wanted - have):
        context.jobs.start(f"warm {number}", partial(_add, context))


async def _add(context: Context) -> None:
    """Add one waiting sandbox: first its row, which says whose it is, then the sandbox, then its name in the row."""
    provider = context.providers.default
    warm_id = f"omoios-warm-{secrets.token_hex(6)}"
    own = WarmSandbox.id == warm_id
    async with context.sessions() as session, session.begin():
        session.add(WarmSandbox(id=warm_id, provider=provider.name, site=provider.site, owner=context.owner))
    argv = worker_argv(provider.runtime.python, provider.runtime.source, waiting=True)
    spec = make_spec(
        context.settings, provider, sandbox_id=warm_id, owner=context.installation, argv=argv, env=_ENVIRONMENT
    )
    try:
        ref = await provider.create(spec)
    except ProviderError:
        async with context.sessions() as session, session.begin():
            await session.execute(delete(WarmSandbox).where(own))
        raise
    async with context.sessions() as session, session.begin():
        await session.execute(update(WarmSandbox).where(own).values(provider_ref=ref))


async def drain(context: Context) -> None:
    """Remove this orchestrator's sandboxes from the pool; the reconciler destroys them."""
    async with context.sessions() as session, session.begin():
        await session.execute(delete(WarmSandbox).where(WarmSandbox.owner == context.owner))


async def known_ids(session: AsyncSession, provider: SandboxProvider) -> set[str]:
    """Return the ids of the waiting sandboxes of every running orchestrator; delete the rows of the others."""
    rows = (await session.execute(select(WarmSandbox).where(WarmSandbox.site == provider.site))).scalars().all()
    alive = {owner for owner in {row.owner for row in rows} if await is_present(session, owner)}
    for row in rows:
        if row.owner not in alive:
            await session.delete(row)
    return {row.id for row in rows if row.owner in alive}
