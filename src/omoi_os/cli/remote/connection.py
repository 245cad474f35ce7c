"""How the operator commands reach the platform: its address, a key, and a sandbox by its id."""

import re
from typing import Any

import httpx

from omoi_os.accounts.admin_token import token_path
from omoi_os.cli.remote.client import Client
from omoi_os.config import Settings, load_settings
from omoi_os.errors import ConfigError, NotFound, OmoiError, SetupError

#: Somebody waits at a terminal: a platform that does not run is said at once, a hiccup is not.
PATIENCE_SECONDS = 1.0

Json = dict[str, Any]

_SANDBOX_ID = re.compile(r"[a-z0-9][a-z0-9-]*")


def known_key(settings: Settings) -> str | None:
    """The key that is set, or the one that the data folder keeps; none is made here."""
    if settings.admin_token is not None:
        return settings.admin_token
    try:
        return token_path(settings).read_text().strip() or None
    except OSError:
        return None


def needed_key(settings: Settings) -> str:
    """The same; `SetupError` without one."""
    key = known_key(settings)
    if key is None:
        raise SetupError(
            f"there is no key: OMOI_ADMIN_TOKEN is not set and {token_path(settings)} cannot be read; "
            "start the platform with `make run`, or set OMOI_DATA_DIR or OMOI_ADMIN_TOKEN to its own"
        )
    if not (key.isascii() and key.isprintable()):
        raise SetupError(f"the key of OMOI_ADMIN_TOKEN or {token_path(settings)} is none: it has to be plain letters")
    return key


def connect(parameters: Json) -> Client:
    """A client of the platform that the settings name."""
    settings = load_settings(**parameters)
    try:
        return Client(settings.effective_api_url, needed_key(settings), patience=PATIENCE_SECONDS)
    except httpx.InvalidURL as error:
        raise ConfigError(f"OMOI_API_URL or OMOI_HOST: {settings.effective_api_url} is no address: {error}") from None


def path_of(sandbox_id: str, rest: str = "") -> str:
    """A place below a sandbox. What cannot be an id could name another place, and is refused."""
    if not _SANDBOX_ID.fullmatch(sandbox_id):
        raise _unknown(sandbox_id)
    return f"/api/v1/sandboxes/{sandbox_id}{rest}"


def get_sandbox(client: Client, sandbox_id: str) -> Json:
    """One sandbox; when it is not there, that is said in a sentence."""
    try:
        sandbox = client.get(path_of(sandbox_id))
    except NotFound:
        raise _unknown(sandbox_id) from None
    if sandbox.get("id") != sandbox_id:
        raise _unknown(sandbox_id)
    return sandbox


def _unknown(sandbox_id: str) -> OmoiError:
    return NotFound(f"there is no sandbox {sandbox_id[:100]!r} that you may see; `omoi sandboxes` lists them")
