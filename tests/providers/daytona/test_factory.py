"""The provider from the settings."""

from pathlib import Path

import pytest

from omoi_os.config import load_settings
from omoi_os.errors import ConfigError
from omoi_os.providers.daytona.factory import make

FAR = {"DAYTONA_API_KEY": "dtn_x", "CALLBACK_URL": "https://omoi.example.org"}


def test_the_settings_describe_it(tmp_path: Path) -> None:
    environ = {**FAR, "DAYTONA_API_URL": "https://daytona.example.org/api", "DAYTONA_TARGET": "eu"}

    provider = make(load_settings(environ=environ, config_dir=tmp_path))

    assert (provider.name, provider.has_door, provider.site) == ("daytona", False, "https://daytona.example.org/api eu")
    assert "ai-agent-dev-light" in str(provider.limits_warning)


def test_a_missing_key_or_a_callback_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="DAYTONA_API_KEY must be set"):
        make(load_settings(environ={}, config_dir=tmp_path))
    with pytest.raises(ConfigError, match="CALLBACK_URL must be set"):
        make(load_settings(environ={"DAYTONA_API_KEY": "dtn_x"}, config_dir=tmp_path))
    with pytest.raises(ConfigError, match="leads back into the sandbox"):
        make(load_settings(environ={**FAR, "CALLBACK_URL": "http://127.0.0.1:18001"}, config_dir=tmp_path))
