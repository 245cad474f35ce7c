"""Credentials: which upstream, with which secret, answers a model call."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from aiohttp import ClientSession, TCPConnector, UnixConnector, web

from omoi_os.config import Settings
from omoi_os.credentials import repository
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.masks import CredentialMasks
from omoi_os.credentials.models import Credential
from omoi_os.credentials.resolver import model_credential
from omoi_os.db.base import Sessions
from omoi_os.errors import CredentialError, CredentialMissing, DestinationRefused
from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.gateway.model.metered.upstream import Upstream, make_session
from omoi_os.scripted_model.server import make_app
from omoi_os.system.destinations import check_url, checked_connector

_SCRIPTED = "scripted"


class CallPurpose(StrEnum):
    """Why a model is called. A credential may be limited to some purposes."""

    AGENT = "agent"  #: an agent works on a task


class CredentialResolver(Protocol):
    """Asked once for each model call, so that a changed credential applies to the next call."""

    async def resolve(self, payer: Payer, purpose: CallPurpose) -> Upstream:
        """Return the upstream for one call of this payer. Raises `CredentialError`."""


@dataclass(frozen=True, slots=True)
class StoredCredentials:
    """Resolves a call to the payer's own credential, else the shared one, else the upstream of the settings.

    Nothing decrypted outlives the call, so a deleted credential is not used again.
    """

    settings: Settings
    sessions: Sessions
    keyring: Keyring
    masks: CredentialMasks
    #: The upstream that the settings name: the scripted model if they have no key.
    of_settings: Upstream
    #: Clients for hosts that the settings name, and for hosts that people name.
    trusted: ClientSession
    checked: ClientSession

    async def resolve(self, payer: Payer, purpose: CallPurpose) -> Upstream:
        """Return the upstream for one call."""
        if self.of_settings.scripted and payer.model == _SCRIPTED:
            # The work started with the scripted model; a credential that was added since applies to the next attempt.
            return self.of_settings
        async with self.sessions() as session:
            row = await model_credential(session, self.settings, payer.user_id)
        if row is not None:
            return await self._use(row)
        if self.of_settings.scripted and payer.model not in (None, _SCRIPTED) and self.settings.model != _SCRIPTED:
            raise CredentialMissing(
                f"The credential for {payer.model} no longer exists: add one under My credentials, or set "
                "ANTHROPIC_API_KEY, and retry the task."
            )
        return self.of_settings

    async def _use(self, row: Credential) -> Upstream:
        secret = self.keyring.decrypt(row)
        self.masks.learn(row.id, secret)
        now = datetime.now(UTC)
        if row.last_used_at is None or row.last_used_at <= now - repository.USED_EVERY:
            async with self.sessions.begin() as session:
                await repository.note_use(session, row.id, now=now)
        client, base_url = self.trusted, self.settings.anthropic_base_url.rstrip("/")
        if row.base_url is not None:
            client, base_url = self.checked, self._check_url(row, row.base_url)
        return Upstream(
            client,
            base_url,
            secret,
            provider=row.provider,
            model=row.model,
            source=f"the credential {row.name!r} under My credentials",
        )

    def _check_url(self, row: Credential, base_url: str) -> str:
        """Return the URL; raise `CredentialError` if the settings no longer allow its host."""
        try:
            return check_url(base_url, private=self.settings.egress_private)
        except DestinationRefused as error:
            raise CredentialError(f"The credential {row.name!r} cannot be used: {error}.") from None


@asynccontextmanager
async def open_credentials(
    settings: Settings, folder: Path, *, sessions: Sessions, keyring: Keyring, masks: CredentialMasks
) -> AsyncIterator[CredentialResolver]:
    """Open the upstreams of the settings and of people. `folder` is private to this process."""
    async with AsyncExitStack() as stack:
        trusted = await stack.enter_async_context(make_session(TCPConnector(limit=0)))
        checked = await stack.enter_async_context(make_session(checked_connector(settings.egress_private)))
        if settings.uses_scripted_model:
            address = str(folder / "scripted.sock")
            await stack.enter_async_context(_scripted_model(settings.scripts_dir, address))
            scripted = await stack.enter_async_context(make_session(UnixConnector(path=address, limit=0)))
            of_settings = Upstream(scripted, "http://scripted", None)
        else:
            of_settings = Upstream(trusted, settings.anthropic_base_url.rstrip("/"), settings.anthropic_api_key)
        yield StoredCredentials(settings, sessions, keyring, masks, of_settings, trusted, checked)


@asynccontextmanager
async def _scripted_model(scripts_dir: Path | None, address: str) -> AsyncIterator[None]:
    runner = web.AppRunner(make_app(scripts_dir), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.UnixSite(runner, address).start()
        yield
    finally:
        await runner.cleanup()
