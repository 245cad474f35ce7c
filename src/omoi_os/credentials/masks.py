"""Keeps a process's masker informed about the secrets of all credentials."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy.exc import SQLAlchemyError

from omoi_os.bus.base import Bus, Topic
from omoi_os.credentials import repository
from omoi_os.credentials.encryption import Keyring
from omoi_os.db.base import Sessions
from omoi_os.errors import CredentialLocked, SetupError
from omoi_os.masking import Masker

log = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
#: Shorter lines of a private key could be ordinary text.
_MIN_LINE_CHARACTERS = 24


class CredentialMasks:
    """The secrets that this process masks, by credential."""

    def __init__(self, masker: Masker, sessions: Sessions, keyring: Keyring) -> None:
        self._masker, self._sessions, self._keyring = masker, sessions, keyring
        self._known: dict[UUID, list[str]] = {}
        self._locked: set[UUID] = set()

    def learn(self, credential_id: UUID, secret: str) -> None:
        """Mask a secret from now on. Can be repeated."""
        if credential_id not in self._known:
            self._known[credential_id] = forms = _forms(secret)
            self._masker.add(forms)

    async def refresh(self) -> None:
        """Mask the secrets of all credentials, and no longer those of deleted ones."""
        async with self._sessions() as session:
            ids = await repository.all_ids(session)
            rows = await repository.by_ids(session, ids - self._known.keys())
        fresh: dict[UUID, list[str]] = {}
        for row in rows:
            if row.id in self._known:
                # Learned while the rows were read.
                continue
            try:
                fresh[row.id] = _forms(self._keyring.decrypt(row))
            except (CredentialLocked, SetupError) as error:
                # It cannot be used either, so it can appear nowhere.
                if row.id not in self._locked:
                    log.warning("%s", error)
                    self._locked.add(row.id)
        # All at once, because each change compiles the masker's patterns again.
        gone = [self._known.pop(credential_id) for credential_id in self._known.keys() - ids]
        if fresh:
            self._known |= fresh
            self._masker.add(form for forms in fresh.values() for form in forms)
        if gone:
            self._masker.remove(form for forms in gone for form in forms)
        self._locked &= ids

    @asynccontextmanager
    async def kept(self, bus: Bus) -> AsyncIterator[None]:
        """Know all secrets when the block starts, and follow changes while it runs."""
        await self.refresh()
        keeping = asyncio.create_task(self._keep(bus))
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self, bus: Bus) -> None:
        async with bus.listen(Topic.CREDENTIALS) as wakeups:
            async for _ in wakeups:
                await self._refresh_through_outages()

    async def _refresh_through_outages(self) -> None:
        while True:
            try:
                return await self.refresh()
            except (SQLAlchemyError, OSError) as error:
                log.warning("the credentials to mask could not be read, retrying: %s", type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)


def _forms(secret: str) -> list[str]:
    """Return the secret and, of a private key, each line."""
    lines = [line for line in secret.splitlines() if len(line) >= _MIN_LINE_CHARACTERS and not line.startswith("-")]
    return [secret, *(lines if "\n" in secret else ())]
