"""Connects the operator commands to the platform: its URL, an API key, and sandboxes by id."""

import re
from typing import Any

import httpx

from omoi_os.accounts.admin_token import token_path
from omoi_os.cli.remote.client import Client
from omoi_os.config import Settings, load_settings
from omoi_os.errors import ConfigError, NotFound, OmoiError, SetupError

#: A person waits at the terminal: report a stopped platform soon, but survive a short interruption.
PATIENCE_SECONDS = 1.0

Json = dict[str, Any]

_SANDBOX_ID = re.compile(r"[a-z0-9][a-z0-9-]*")


def known_key(settings: Settings) -> str | None:
    """Return the configured API key or the one in the data folder, or None."""
    if settings.admin_token is not None:
        return settings.admin_token
    try:
        return token_path(settings).read_text().strip() or None
    except OSError:
        return None


def required_key(settings: Settings) -> str:
    """Return the API key. Raises `SetupError` when there is none."""
    key = known_key(settings)
    if key is None:
        raise SetupError(
            f"no API key: OMOI_ADMIN_TOKEN is not set and {token_path(settings)} cannot be read; "
            "start the platform with `omoi serve`, or set OMOI_DATA_DIR or OMOI_ADMIN_TOKEN to those of the platform"
        )
    if not (key.isascii() and key.isprintable()):
        raise SetupError(
            f"the API key in OMOI_ADMIN_TOKEN or {token_path(settings)} is invalid: it must be printable ASCII"
        )
    return key


def connect(parameters: Json) -> Client:
    """Return a client of the configured platform."""
    settings = load_settings(**parameters)
    try:
        return Client(settings.effective_api_url, required_key(settings), patience=PATIENCE_SECONDS)
    except httpx.InvalidURL as error:
        raise ConfigError(
            f"OMOI_API_URL or OMOI_HOST: {settings.effective_api_url} is not a valid URL: {error}"
        ) from None


def path_of(sandbox_id: str, rest: str = "") -> str:
    """Return the path of a sandbox's resource. Refuses invalid ids, which could lead to another path."""
    if not _SANDBOX_ID.fullmatch(sandbox_id):
        raise _unknown(sandbox_id)
    return f"/api/v1/sandboxes/{sandbox_id}{rest}"


def get_sandbox(client: Client, sandbox_id: str) -> Json:
    """Return one sandbox. Raises `NotFound`."""
    try:
        sandbox = client.get(path_of(sandbox_id))
    except NotFound:
        raise _unknown(sandbox_id) from None
    if sandbox.get("id") != sandbox_id:
        raise _unknown(sandbox_id)
    return sandbox


def _unknown(sandbox_id: str) -> OmoiError:
    return NotFound(f"sandbox {sandbox_id[:100]!r} does not exist or is not visible to you; see `omoi sandboxes`")
