"""Credentials: which upstream, with which secret, answers a model call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from aiohttp import TCPConnector, UnixConnector, web

from omoi_os.config import Settings
from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.gateway.model.metered.upstream import Upstream, make_session
from omoi_os.scripted_model.server import make_app


class CallPurpose(StrEnum):
    """Why a model is called. A credential may be limited to some purposes."""

    AGENT = "agent"  #: an agent works on a task


class CredentialResolver(Protocol):
    """Asked once for each model call, so that a changed credential applies to the next call."""

    async def resolve(self, payer: Payer, purpose: CallPurpose) -> Upstream:
        """Return the upstream for one call of this payer."""


class InstallationCredentials:
    """Resolves every call to the one model and key that the settings name."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def resolve(self, payer: Payer, purpose: CallPurpose) -> Upstream:
        """Return the installation's upstream."""
        return self._upstream


@asynccontextmanager
async def open_credentials(settings: Settings, folder: Path) -> AsyncIterator[CredentialResolver]:
    """Open the upstream that the settings name. `folder` is private to this process."""
    if settings.uses_scripted_model:
        address = str(folder / "scripted.sock")
        async with (
            _scripted_model(settings.scripts_dir, address),
            make_session(UnixConnector(path=address, limit=0)) as session,
        ):
            yield InstallationCredentials(Upstream(session, "http://scripted", None))
    else:
        async with make_session(TCPConnector(limit=0)) as session:
            base_url = settings.anthropic_base_url.rstrip("/")
            yield InstallationCredentials(Upstream(session, base_url, settings.anthropic_api_key))


@asynccontextmanager
async def _scripted_model(scripts_dir: Path | None, address: str) -> AsyncIterator[None]:
    runner = web.AppRunner(make_app(scripts_dir), access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.UnixSite(runner, address).start()
        yield
    finally:
        await runner.cleanup()
