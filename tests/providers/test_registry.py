"""The registry is the one list of providers: settings, the API and the documents offer the same names."""

import importlib
from pathlib import Path

import pytest

from omoi_os.config import load_settings
from omoi_os.errors import ConfigError
from omoi_os.projects.schemas import ProjectSettings
from omoi_os.providers.registry import ProviderName, make_provider

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ProviderName)
def test_every_provider_has_a_factory_and_can_be_chosen(name: ProviderName, tmp_path: Path) -> None:
    assert callable(importlib.import_module(f"omoi_os.providers.{name}.factory").make)
    settings = load_settings(environ={"SANDBOX_PROVIDER": name.value}, config_dir=tmp_path)
    assert settings.sandbox_provider == name
    assert ProjectSettings(provider=name).model_dump(mode="json")["provider"] == name.value


def test_the_api_offers_every_provider() -> None:
    choices = ProjectSettings.model_json_schema()["properties"]["provider"]["anyOf"][0]

    assert choices == {"type": "string", "enum": [name.value for name in ProviderName]}


@pytest.mark.parametrize("document", ["config/base.yaml", "docs/operating.md"])
def test_the_documents_name_every_provider(document: str) -> None:
    text = (ROOT / document).read_text()

    (line,) = [line for line in text.splitlines() if "SANDBOX_PROVIDER" in line and "local" in line]
    assert [name for name in ProviderName if name not in line] == []


def test_an_unknown_provider_is_refused_with_the_names_of_all(tmp_path: Path) -> None:
    settings = load_settings(environ={}, config_dir=tmp_path)

    with pytest.raises(ConfigError, match=r"there is no provider 'moon'; choose one of local, docker, daytona"):
        make_provider(settings, "moon")
