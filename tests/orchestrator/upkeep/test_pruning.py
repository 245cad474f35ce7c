"""Retention of records: answers under idempotency keys and the audit trail go with their age, and no sooner."""

from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import IdempotentRequest
from omoi_os.audit.models import AuditEntry, AuditKind
from omoi_os.audit.trail import Entry, write
from omoi_os.masking import Masker
from omoi_os.orchestrator.upkeep.pruning import ANSWERS_KEPT, AUDIT_KEPT, BATCH, prune_records
from tests.builders import a_user
from tests.orchestrator.conftest import MakeContext

MINUTE = timedelta(minutes=1)


async def test_old_answers_go_in_batches_and_young_ones_stay(session: AsyncSession, make_context: MakeContext) -> None:
    context = make_context()
    user, now = await a_user(session), context.now()
    ages = [ANSWERS_KEPT + MINUTE] * (BATCH + 5) + [ANSWERS_KEPT - MINUTE, timedelta()]
    session.add_all(
        IdempotentRequest(user_id=user.id, key=f"k{number}", fingerprint="f", created_at=now - age)
        for number, age in enumerate(ages)
    )
    await session.commit()

    await prune_records(context)

    kept = (await session.execute(select(IdempotentRequest.key))).scalars().all()
    assert sorted(kept) == [f"k{BATCH + 5}", f"k{BATCH + 6}"]


async def test_the_audit_trail_is_kept_for_a_year(session: AsyncSession, make_context: MakeContext) -> None:
    context = make_context()
    for name, age in (("old", AUDIT_KEPT + MINUTE), ("young", AUDIT_KEPT - MINUTE)):
        entry = Entry(AuditKind.FOREIGN_SANDBOX, name, "x", "y")
        await write(session, entry, masker=Masker(), now=context.now() - age)
    await session.commit()
    assert (await session.execute(select(func.count()).select_from(AuditEntry))).scalar_one() == 2

    await prune_records(context)

    assert (await session.execute(select(AuditEntry.actor_id))).scalars().all() == ["young"]
