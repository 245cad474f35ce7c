"""The variables and folders that the Claude CLI needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from omoi_os.worker.paths import WorkerPaths

#: The model, through the gateway. The token is valid only at this sandbox's gateway socket.
PASSED_ON = ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", "CLAUDE_CODE_MAX_RETRIES")


def config_folder(paths: WorkerPaths) -> Path:
    """Return the folder in which the CLI keeps its settings and sessions."""
    return paths.home / ".claude"


def environment(variables: Mapping[str, str], paths: WorkerPaths) -> dict[str, str]:
    """Return the variables for the SDK and the CLI."""
    temporary, runtime = _cache_folders(paths.home)
    return {name: variables[name] for name in PASSED_ON if name in variables} | {
        "CLAUDE_CONFIG_DIR": str(config_folder(paths)),
        "CLAUDE_CODE_TMPDIR": str(temporary),
        "XDG_RUNTIME_DIR": str(runtime),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        # The SDK includes its CLI. Checking the CLI's version would start it once more.
        "CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK": "1",
        # Set so that the SDK does not search all installed packages for the name of the program that uses it.
        "CLAUDE_AGENT_SDK_CLIENT_APP": "",
        # The CLI refuses some permission modes to root unless it knows that it runs in a sandbox.
        "IS_SANDBOX": "1",
    }


def create_folders(home: Path) -> None:
    """Create the folders named by `environment`, readable by their owner only, as the CLI requires."""
    for folder in _cache_folders(home):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103


def _cache_folders(home: Path) -> tuple[Path, Path]:
    return home / ".cache" / "claude", home / ".cache" / "run"
