"""The versions of the platform's components, found without importing them."""

import importlib.util
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_SDK = "claude_agent_sdk"


@cache
def platform() -> str:
    """Return the platform's version."""
    return version("omoi-os")


@cache
def agent_sdk() -> str | None:
    """Return the version of the agent's SDK, or None if it is not installed."""
    try:
        return version(_SDK.replace("_", "-"))
    except PackageNotFoundError:
        return None


@cache
def agent_cli() -> str | None:
    """Return the version of the agent's CLI that comes with the SDK, or None if it is unknown."""
    spec = importlib.util.find_spec(_SDK)
    if spec is None or spec.origin is None:
        return None
    said = Path(spec.origin).with_name("_cli_version.py")
    found = re.search(r'__cli_version__ = "([^"]+)"', said.read_text()) if said.is_file() else None
    return found[1] if found else None
