"""`omoi credentials`: list, add, check and delete your credentials, and rotate the key that encrypts them."""

import asyncio
import getpass
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from omoi_os.bus.factory import open_bus
from omoi_os.cli.local.database import connected
from omoi_os.cli.output.tables import as_json, as_line, moment, span, table, width
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import Json, connect
from omoi_os.config import Settings, load_settings
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.service import rotate
from omoi_os.db import embedded
from omoi_os.db.base import make_engine, make_sessions
from omoi_os.db.migrate import answering
from omoi_os.errors import ConfigError, OmoiError

_PATH = "/api/v1/credentials"
_HEAD = ("ID", "PROVIDER", "NAME", "ENDS IN", "HOST", "USE", "CHECK", "LAST USED")
_FIELDS = ("provider", "name", "base_url", "model", "username", "is_default", "shared")


def run(parameters: dict[str, Any]) -> int:
    """Run one action. Return 1 if a credential was added or checked and its host does not accept it, else 0."""
    action, credential = parameters.pop("action"), parameters.pop("credential", None)
    fields = {name: parameters.pop(name) for name in _FIELDS if name in parameters}
    known_hosts, wants_json = parameters.pop("known_hosts", None), parameters.pop("json", False)
    if action == "rotate":
        return _rotate(load_settings(**parameters))
    with connect(parameters) as client:
        if action == "list":
            return _list(client, wants_json=wants_json)
        if action == "add":
            body = {**fields, **({"known_hosts": _read(known_hosts)} if known_hosts else {})}
            return _show(client.post(_PATH, {**body, "secret": _ask_secret()}), wants_json=wants_json)
        path = f"{_PATH}/{_id(credential)}"
        if action == "check":
            return _show(client.post(f"{path}/check", {}), wants_json=wants_json)
        client.delete(path)
        print(f"{credential}: deleted")
        return 0


def _list(client: Client, *, wants_json: bool) -> int:
    found = list(client.items(_PATH, limit=200))
    if wants_json:
        for row in found:
            print(as_json(row))
    elif found:
        for line in table([_HEAD, *map(_row, found)], width=width(), flexible=2):
            print(line)
    else:
        print("No credentials yet. `omoi credentials add --provider anthropic --name NAME` adds one.")
    return 0


def _row(row: Json) -> list[str]:
    use = " ".join(word for word in ("shared" if row["shared"] else "", "default" if row["is_default"] else "") if word)
    used = row["last_used_at"]
    age = f"{span((datetime.now(UTC) - moment(used)).total_seconds())} ago" if used else "never"
    host = row["base_url"] or "installation's"
    return [row["id"], row["provider"], row["name"], row["last_four"], host, use, row["check"] or "not checked", age]


def _show(row: Json, *, wants_json: bool) -> int:
    if wants_json:
        print(as_json(row))
    else:
        print(f"{row['id']}: {as_line(row['name'])}, check: {row['check'] or 'not checked'}")
    return 0 if row["check"] in ("ok", None) else 1


def _ask_secret() -> str:
    """Return the secret from a prompt or from standard input. Other users of the machine could read an argument."""
    secret = getpass.getpass("Secret (not shown): ") if sys.stdin.isatty() else sys.stdin.read()
    if not secret.strip():
        raise OmoiError("no secret was given; type it at the prompt or pipe it into the command")
    return secret.strip()


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise OmoiError(f"--known-hosts: {path} cannot be read: {reason}") from None


def _id(text: str | None) -> UUID:
    try:
        return UUID(text)
    except (TypeError, ValueError):
        raise ConfigError("name a credential by its id, as `omoi credentials list` shows it") from None


def _rotate(settings: Settings) -> int:
    """Encrypt all credentials with the first key, on the server. Return 1 if some cannot be decrypted."""
    done, locked = asyncio.run(_encrypt_again(connected(settings)))
    print(f"Encrypted {done} {'credential' if done == 1 else 'credentials'} with the first key.")
    for name, key_id in locked:
        print(f"Skipped {as_line(name)!r}: its key {key_id} is missing.", file=sys.stderr)
    return 1 if locked else 0


async def _encrypt_again(settings: Settings) -> tuple[int, list[tuple[str, str]]]:
    url = settings.database_url or embedded.url(settings.data_dir)
    engine = make_engine(url, pool_size=1)
    try:
        with answering():
            async with open_bus(settings, url) as bus, make_sessions(engine).begin() as session:
                done, locked = await rotate(session, bus, Keyring(settings), new_key=not settings.secret_keys)
    finally:
        await engine.dispose()
    return done, [(row.name, row.key_id) for row in locked]
