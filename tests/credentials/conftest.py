"""The same application and callers as in the API's own tests, and hosts that keep what they were asked."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.config import Settings, load_settings
from omoi_os.credentials.encryption import Keyring
from tests.api.conftest import MODEL_KEY, ada, admin, anonymous, app, bob, bus, worker
from tests.gateway.conftest import listening
from tests.gateway.places import Host

__all__ = ["ada", "admin", "anonymous", "app", "bob", "bus", "worker"]


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    """A host of models or GitHub, in a private network that the settings name."""
    async with listening(Host()) as made:
        yield made


@pytest.fixture
def settings(short_tmp: Path, host: Host) -> Settings:
    data_dir = short_tmp / "data"
    data_dir.mkdir()
    return load_settings(
        environ={},
        config_dir=short_tmp,
        data_dir=data_dir,
        anthropic_api_key=MODEL_KEY,
        anthropic_base_url=host.url,
        github_api_url=f"{host.url}/github",
        allowed_hosts="omoi",
        egress_private="127.0.0.1",
    )


@pytest.fixture
def keyring(settings: Settings) -> Keyring:
    return Keyring(settings)
