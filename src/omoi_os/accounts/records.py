"""Audit entries about keys."""

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import ApiKey, User
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import record_action


async def record_key(session: AsyncSession, actor: User, kind: AuditKind, key: ApiKey, *, of: User) -> None:
    """Record that a key was created or revoked."""
    detail = f"{key.name} ({key.scope or 'admin'}, ends in {key.last_four}) of {of.email}"
    await record_action(session, actor.email, kind, subject=str(key.id), detail=detail)
