"""Your credentials: write-only, and checked with their host when they are saved."""

from datetime import datetime

from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.idempotency import Key, claim
from omoi_os.accounts.models import User
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import record_action
from omoi_os.config import Settings
from omoi_os.credentials import checks, repository, service
from omoi_os.credentials.deps import AppKeyring, AppMasks, VisibleCredential
from omoi_os.credentials.models import Credential
from omoi_os.credentials.schemas import CredentialIn, CredentialOut, CredentialPage
from omoi_os.credentials.values import checked
from omoi_os.http import paging
from omoi_os.http.deps import AppBus, AppSettings, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router

router = make_router("/credentials", tags=["credentials"], refusals=(401, 403, 422, 503))


@router.get("", summary="List your credentials")
async def list_credentials(
    user: CurrentUser, session: DbSession, limit: paging.Limit = 50, cursor: paging.Cursor = None
) -> CredentialPage:
    """Return your credentials without their secrets, newest first. Administrators also see the shared ones."""
    before = paging.before_id("credentials", cursor)
    rows = await repository.list_visible(session, user, limit=limit + 1, before=before)
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode("credentials", row.id))
    return CredentialPage(items=[CredentialOut.model_validate(row) for row in found], next_cursor=next_cursor)


@router.post("", status_code=201, summary="Add a credential", responses=problems(409, 413))
async def create_credential(
    request: Request,
    user: CurrentUser,
    body: CredentialIn,
    session: DbSession,
    settings: AppSettings,
    bus: AppBus,
    keyring: AppKeyring,
    masks: AppMasks,
    now: Now,
    key: Key = None,
) -> CredentialOut:
    """Encrypt and store a credential, then check it with one cheap call to its host.

    It is stored whatever the check finds, and `check` in the response says it.
    """
    new = body.to_new()
    base_url, _ = checked(new, settings)
    if base_url is not None:
        # No transaction is open while the name is resolved.
        await session.commit()
        await checks.require_allowed(settings, base_url)
    only = await claim(request, user, session, key, body.without_secret())
    row = await service.add(session, bus, keyring, user, new, settings=settings, now=now)
    await _record(session, user, AuditKind.CREDENTIAL_ADDED, row)
    masks.learn(row.id, new.secret)
    only.answer(CredentialOut.model_validate(row))
    return only.answer(await _check(session, settings, row, new.secret, now=now))


@router.post("/{credential_id}/check", summary="Check a credential", responses=problems(404, 409))
async def check_credential(
    row: VisibleCredential, session: DbSession, settings: AppSettings, keyring: AppKeyring, now: Now
) -> CredentialOut:
    """Check a credential with one cheap call to its host. Answers 409 if it cannot be decrypted."""
    return await _check(session, settings, row, keyring.decrypt(row), now=now)


@router.delete("/{credential_id}", status_code=204, summary="Delete a credential", responses=problems(404))
async def delete_credential(user: CurrentUser, row: VisibleCredential, session: DbSession, bus: AppBus) -> None:
    """Delete a credential. The next call is made without it, in running tasks too.

    If it was the default, the newest other one that is used for the same becomes the default.
    """
    await service.delete(session, bus, row)
    await _record(session, user, AuditKind.CREDENTIAL_DELETED, row)


async def _check(
    session: AsyncSession, settings: Settings, row: Credential, secret: str, *, now: datetime
) -> CredentialOut:
    """Check a stored credential and store the result. No transaction is open while its host is called."""
    await session.commit()
    found = await checks.check(settings, row, secret)
    shown = CredentialOut.model_validate(row)
    if found is None:
        return shown
    await repository.note_check(session, row.id, check=found, now=now)
    return shown.model_copy(update={"check": found, "checked_at": now})


async def _record(session: AsyncSession, user: User, kind: AuditKind, row: Credential) -> None:
    traits = (row.provider, "shared" if row.shared else "", f"ends in {row.last_four}" if row.last_four else "")
    detail = f"{row.name} ({', '.join(trait for trait in traits if trait)})"
    await record_action(session, user.email, kind, subject=str(row.id), detail=detail)
