"""The provider from the settings."""

from pathlib import Path

import pytest

from omoi_os.config import load_settings
from omoi_os.errors import ConfigError
from omoi_os.providers.base import Runtime
from omoi_os.providers.conformance import Guarantee, known_gaps
from omoi_os.providers.daytona.factory import make
from omoi_os.providers.daytona.provider import DaytonaProvider
from omoi_os.providers.image import IMAGE_RUNTIME
from tests.providers.conftest import MakeSpec
from tests.providers.daytona.conftest import RUNTIME
from tests.providers.daytona.server import API_KEY, FakeDaytona

FAR = {"DAYTONA_API_KEY": "dtn_x", "CALLBACK_URL": "https://omoi.example.org"}


def test_the_settings_describe_it(tmp_path: Path) -> None:
    environ = {**FAR, "DAYTONA_API_URL": "https://daytona.example.org/api", "DAYTONA_TARGET": "eu"}

    provider = make(load_settings(environ=environ, config_dir=tmp_path))

    assert (provider.name, provider.has_gateway_socket, provider.site) == (
        "daytona",
        False,
        "https://daytona.example.org/api eu",
    )
    assert "ai-agent-dev-light" in str(provider.limits_warning)


def test_a_missing_key_or_an_unreachable_callback_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="DAYTONA_API_KEY must be set"):
        make(load_settings(environ={}, config_dir=tmp_path))
    with pytest.raises(ConfigError, match="CALLBACK_URL must be set"):
        make(load_settings(environ={"DAYTONA_API_KEY": "dtn_x"}, config_dir=tmp_path))
    with pytest.raises(ConfigError, match="points to the sandbox itself"):
        make(load_settings(environ={**FAR, "CALLBACK_URL": "http://127.0.0.1:18001"}, config_dir=tmp_path))


def test_the_worker_is_at_the_image_s_path_unless_the_settings_name_another(tmp_path: Path) -> None:
    elsewhere = {"OMOI_DAYTONA_PYTHON": "/usr/bin/python3", "OMOI_DAYTONA_SOURCE": "/srv/omoi"}

    assert make(load_settings(environ=FAR, config_dir=tmp_path)).runtime == IMAGE_RUNTIME
    assert make(load_settings(environ={**FAR, **elsewhere}, config_dir=tmp_path)).runtime == Runtime(
        "/usr/bin/python3", "/srv/omoi"
    )
    with pytest.raises(ConfigError, match="OMOI_DAYTONA_PYTHON"):
        load_settings(environ={"OMOI_DAYTONA_PYTHON": "python3"}, config_dir=tmp_path)


@pytest.mark.parametrize(
    ("open_network", "allowed"), [("false", "omoi.example.org,packages.example.org"), ("true", None)]
)
async def test_the_user_the_network_and_the_package_index_arrive(
    server: FakeDaytona, make_spec: MakeSpec, tmp_path: Path, open_network: str, allowed: str | None
) -> None:
    settings = load_settings(
        environ={
            "DAYTONA_API_KEY": API_KEY,
            "DAYTONA_API_URL": server.url,
            "CALLBACK_URL": "https://omoi.example.org",
            "OMOI_DAYTONA_USER": "agent",
            "OMOI_DAYTONA_OPEN_NETWORK": open_network,
            "OMOI_DAYTONA_PYTHON": RUNTIME.python,
            "OMOI_DAYTONA_SOURCE": RUNTIME.source,
            "OMOI_PACKAGE_INDEX": "https://packages.example.org/simple/",
        },
        config_dir=tmp_path,
    )
    provider = make(settings)
    try:
        ref = await provider.create(make_spec())
        asked = server.named(ref).asked
    finally:
        await provider.close()

    assert (asked["user"], asked.get("domainAllowList")) == ("agent", allowed)
    assert (Guarantee.NETWORK in known_gaps(provider)) is (allowed is None)


def test_its_gaps_are_declared_with_their_reasons(tmp_path: Path) -> None:
    def gaps_with(snapshot: str | None) -> set[str]:
        provider = make(load_settings(environ=FAR, config_dir=tmp_path, sandbox_snapshot=snapshot, sandbox_image="i"))
        assert isinstance(provider, DaytonaProvider)
        assert all(len(reason) > 40 for reason in known_gaps(provider).values())
        return set(known_gaps(provider))

    always = {
        Guarantee.BOUND_FOLDERS,
        Guarantee.PIDS,
        "the_system_cannot_be_changed",
        "there_are_no_privileges",
        "no_namespace_can_be_made",
    }
    assert gaps_with(None) == always
    assert gaps_with("s") == always | {Guarantee.MEMORY, Guarantee.CPU, Guarantee.DISK}
