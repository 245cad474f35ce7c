"""The versions of what this platform is made of, found without loading it."""

import importlib.util
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_SDK = "claude_agent_sdk"


@cache
def platform() -> str:
    """This platform's own."""
    return version("omoi-os")


@cache
def agent_sdk() -> str | None:
    """The agent's SDK; None where it is not installed."""
    try:
        return version(_SDK.replace("_", "-"))
    except PackageNotFoundError:
        return None


@cache
def agent_cli() -> str | None:
    """The agent's program that came with the SDK; None if that does not say."""
    spec = importlib.util.find_spec(_SDK)
    if spec is None or spec.origin is None:
        return None
    said = Path(spec.origin).with_name("_cli_version.py")
    found = re.search(r'__cli_version__ = "([^"]+)"', said.read_text()) if said.is_file() else None
    return found[1] if found else None
