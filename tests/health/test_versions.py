"""Versions, found without loading what they are of."""

import subprocess
import sys
from importlib.metadata import version

from claude_agent_sdk._cli_version import __cli_version__

from omoi_os.health import versions


def test_the_versions_are_those_of_what_is_installed() -> None:
    assert versions.platform() == version("omoi-os")
    assert versions.agent_sdk() == version("claude-agent-sdk")
    assert versions.agent_cli() == __cli_version__


def test_the_application_loads_neither_the_sdk_nor_a_provider() -> None:
    look = "import sys, omoi_os.api.app; sys.modules['omoi_os.health.versions'].agent_cli(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()

    heavy = {"claude_agent_sdk", "docker", "daytona", "mcp", "omoi_os.providers.local.host.provider"}
    assert not heavy & set(loaded)
    assert "omoi_os.monitoring.routes" in loaded
