"""The orchestrator's providers: made when they are needed, and closed when it stops."""

import gc
import logging
from pathlib import Path

import pytest

from omoi_os.config import Settings, load_settings
from omoi_os.orchestrator.provider_cache import Providers
from tests.providers.daytona.server import API_KEY, FakeDaytona


def settings_for(folder: Path, **environ: str) -> Settings:
    return load_settings(environ={"OMOI_DATA_DIR": str(folder / "data"), **environ}, config_dir=folder)


async def use_daytona(providers: Providers) -> None:
    """Leaves nothing behind but the provider's connections, which go when it does."""
    assert [listed.ref async for listed in providers.get("daytona").list(owner="nobody")] == []


async def test_closing_leaves_no_connection_of_a_provider_open(
    short_tmp: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDaytona(short_tmp) as server:
        providers = Providers(
            settings_for(
                short_tmp, DAYTONA_API_KEY=API_KEY, DAYTONA_API_URL=server.url, CALLBACK_URL="http://127.0.0.1:1"
            )
        )
        await use_daytona(providers)
        providers.get("local")

        await providers.close()
        gc.collect()

    assert "Unclosed" not in caplog.text
    assert list(providers) == []


async def test_a_provider_that_cannot_be_closed_keeps_none_of_the_others_open(
    short_tmp: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed = []

    class Moon:
        def __init__(self, name: str) -> None:
            self.name = name

        async def close(self) -> None:
            closed.append(self.name)
            raise OSError("no signal from the moon")

    providers = Providers(settings_for(short_tmp))
    for name in ("near", "far"):
        providers.add(Moon(name))  # type: ignore[arg-type]

    with caplog.at_level(logging.WARNING):
        await providers.close()

    assert closed == ["near", "far"]
    assert "no signal from the moon" in caplog.text
