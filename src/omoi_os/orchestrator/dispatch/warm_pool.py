"""The warm pool: sandboxes that wait, with the agent's SDK loaded, for the next task. Each is used once."""

import json
import logging
import secrets
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.health.presence import is_present
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import make_spec
from omoi_os.protocol.paths import HOME
from omoi_os.providers.base import SandboxProvider, SandboxRef
from omoi_os.sandboxes.models import WarmSandbox
from omoi_os.worker.command import handover_argv, worker_argv

log = logging.getLogger(__name__)

HANDOVER_TIMEOUT = timedelta(seconds=30)
#: A waiting sandbox is replaced before its lifetime, which goes on for the task, gets short.
MAX_AGE = timedelta(minutes=30)

#: The pool is looked after at most this often, so that one that cannot be filled costs little.
REFILL_SECONDS = 1.0
#: After a claim the pool rests for so long: a new sandbox would take the processors from the one that just began.
REST_SECONDS = 3.0

#: All that a waiting sandbox knows: nothing of a task, and no token.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "TERM": "dumb"}


async def take(session: AsyncSession, context: Context, provider: SandboxProvider) -> str | None:
    """A waiting sandbox of this orchestrator, no longer in the pool once the transaction commits; or None."""
    oldest = (
        select(WarmSandbox.ref)
        .where(WarmSandbox.owner == context.owner, WarmSandbox.provider == provider.name)
        .order_by(WarmSandbox.created_at)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    taken = await session.execute(delete(WarmSandbox).where(WarmSandbox.ref == oldest).returning(WarmSandbox.ref))
    return taken.scalar_one_or_none()


async def hand_over(provider: SandboxProvider, ref: SandboxRef, environment: Mapping[str, str]) -> None:
    """Give a waiting sandbox its task. Raises `ProviderError` if it does not take it."""
    argv = handover_argv(provider.runtime.python, provider.runtime.source)
    document = json.dumps(dict(environment)).encode()
    try:
        result = await provider.exec(ref, argv, stdin=document, timeout=HANDOVER_TIMEOUT)
    except TimeoutError:
        raise ProviderUnavailable(f"the warm sandbox {ref} did not take its task in time") from None
    if result.exit_code != 0:
        said = result.stderr.decode(errors="replace").strip()[-500:]
        raise ProviderError(f"the warm sandbox {ref} did not take its task: {said or result.exit_code}")


async def refill(context: Context) -> None:
    """Start making what the pool lacks, and drop what is too old."""
    wanted = context.settings.warm_sandboxes
    if not wanted or context.watch.since("claim") < REST_SECONDS:
        return
    if not context.watch.is_due("refill", every=REFILL_SECONDS):
        return
    async with context.sessions() as session, session.begin():
        own = WarmSandbox.owner == context.owner
        old = await session.execute(
            delete(WarmSandbox).where(own, WarmSandbox.created_at < context.now() - MAX_AGE).returning(WarmSandbox.ref)
        )
        for ref in old.scalars():
            log.info("warm sandbox %s is old and is replaced", ref)
        have = (await session.execute(select(func.count()).select_from(WarmSandbox).where(own))).scalar_one()
    for number in range(wanted - have):
        context.jobs.start(f"warm {number}", partial(_add, context))


async def _add(context: Context) -> None:
    """Make one waiting sandbox: the row first, so that it is known whose it is, then the sandbox."""
    provider = context.providers.default
    ref = SandboxRef(f"omoios-warm-{secrets.token_hex(6)}")
    async with context.sessions() as session, session.begin():
        session.add(WarmSandbox(ref=ref, provider=provider.name, site=provider.site, owner=context.owner))
    argv = worker_argv(provider.runtime.python, provider.runtime.source, waiting=True)
    spec = make_spec(
        context.settings, provider, sandbox_id=ref, owner=context.installation, argv=argv, env=_ENVIRONMENT
    )
    try:
        await provider.create(spec)
    except ProviderError:
        async with context.sessions() as session, session.begin():
            await session.execute(delete(WarmSandbox).where(WarmSandbox.ref == ref))
        raise


async def drain(context: Context) -> None:
    """Give up what waits; the reconciler removes it."""
    async with context.sessions() as session, session.begin():
        await session.execute(delete(WarmSandbox).where(WarmSandbox.owner == context.owner))


async def known_refs(session: AsyncSession, provider: SandboxProvider) -> set[str]:
    """The waiting sandboxes of every orchestrator that lives; the rows of one that died are removed."""
    rows = (await session.execute(select(WarmSandbox).where(WarmSandbox.site == provider.site))).scalars().all()
    alive = {owner for owner in {row.owner for row in rows} if await is_present(session, owner)}
    for row in rows:
        if row.owner not in alive:
            await session.delete(row)
    return {row.ref for row in rows if row.owner in alive}
