"""Adds, deletes and re-encrypts credentials. Each function runs in the caller's transaction."""

import logging
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.bus.base import Bus, Topic
from omoi_os.config import Settings
from omoi_os.credentials import repository
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.models import Credential
from omoi_os.credentials.values import NewCredential, checked
from omoi_os.errors import Conflict, CredentialLocked, Forbidden, NotFound
from omoi_os.ids import uuid7

log = logging.getLogger(__name__)

#: Every process masks all secrets in everything it stores, so their number is bounded.
MAX_PER_USER = 50


async def add(
    session: AsyncSession,
    bus: Bus,
    keyring: Keyring,
    user: User,
    new: NewCredential,
    *,
    settings: Settings,
    now: datetime,
) -> Credential:
    """Encrypt and store a credential. Raise `Invalid`, `Forbidden` or `Conflict` if it cannot be added."""
    base_url, used_for = checked(new, settings)
    if new.shared and not user.is_admin:
        raise Forbidden("only an administrator can share a credential with everyone")
    await repository.lock_keys(session)
    if await repository.count_of(session, user.id) >= MAX_PER_USER:
        raise Conflict(f"you have {MAX_PER_USER} credentials, the maximum; delete one first")
    row = Credential(
        id=uuid7(),
        user_id=user.id,
        provider=new.provider,
        used_for=used_for,
        name=new.name,
        base_url=base_url,
        model=new.model,
        username=new.username,
        known_hosts=new.known_hosts,
        shared=new.shared,
        last_four=_last_four(new.secret),
        created_at=now,
    )
    current = await repository.default_beside(session, row)
    row.is_default = current is None if new.is_default is None else new.is_default
    if row.is_default and current is not None:
        current.is_default = False
        # The index allows one default, so the old one goes first.
        await session.flush()
    keyring.encrypt(row, new.secret)
    session.add(row)
    await session.flush()
    await bus.announce(session, Topic.CREDENTIALS, str(row.id))
    return row


async def get(session: AsyncSession, user: User, credential_id: UUID) -> Credential:
    """Return a credential; raise `NotFound` if it does not exist or is not visible to the user."""
    row = await repository.get_visible(session, user, credential_id)
    if row is None:
        raise NotFound(f"there is no credential {credential_id}")
    return row


async def delete(session: AsyncSession, bus: Bus, row: Credential) -> None:
    """Delete a credential: the next call is made without it. The newest other one becomes the default."""
    await repository.lock_keys(session)
    if not await repository.remove(session, row.id):
        raise NotFound(f"there is no credential {row.id}")
    if row.is_default and (heir := await repository.newest_beside(session, row)) is not None:
        heir.is_default = True
    await session.flush()
    await bus.announce(session, Topic.CREDENTIALS, str(row.id))


async def rotate(session: AsyncSession, bus: Bus, keyring: Keyring, *, new_key: bool) -> tuple[int, list[Credential]]:
    """Encrypt every credential with the first key, after adding one with `new_key`.

    Return how many were encrypted again, and those that cannot be decrypted. They stay as they are.
    """
    await repository.lock_keys(session)
    if new_key:
        # The file has all keys before a row needs the new one, so a crash in between loses nothing.
        keyring.add_key()
    done, locked = 0, []
    for row in await repository.not_encrypted_with(session, keyring.first_id):
        try:
            secret = keyring.decrypt(row)
        except CredentialLocked:
            locked.append(row)
            continue
        keyring.encrypt(row, secret)
        done += 1
        await bus.announce(session, Topic.CREDENTIALS, str(row.id))
    await session.flush()
    return done, locked


def _last_four(secret: str) -> str:
    """Return the end of a token; nothing of a private key or of a secret so short that it would reveal much."""
    return secret[-4:] if len(secret) >= 16 and "\n" not in secret else ""
