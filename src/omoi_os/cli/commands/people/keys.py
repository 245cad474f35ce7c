"""`omoi keys`: list, create and revoke your API keys."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from omoi_os.cli.output.tables import as_json, as_line, moment, span, table, width
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import Json, connect
from omoi_os.errors import ConfigError

_PATH = "/api/v1/auth/api-keys"
_HEAD = ("ID", "NAME", "SCOPE", "ENDS IN", "STATUS", "LAST USED")


def run(parameters: dict[str, Any]) -> int:
    """Run one action."""
    action, key = parameters.pop("action"), parameters.pop("key", None)
    fields: dict[str, Any] = {name: parameters.pop(name) for name in ("name", "scope") if name in parameters}
    days, wants_json = parameters.pop("expires_in_days", None), parameters.pop("json", False)
    if action == "create" and "name" not in fields:
        raise ConfigError("omoi keys create: give the key a name with --name, such as the machine that uses it")
    if days is not None:
        fields["expires_at"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    key_id = _id(key) if action == "revoke" else None
    with connect(parameters) as client:
        if action == "list":
            _list(client, wants_json=wants_json)
        elif action == "create":
            created = client.post(_PATH, fields)
            # Nothing but the key: it is shown once and often piped into a file.
            print(as_json(created) if wants_json else as_line(created["key"]))
        else:
            client.delete(f"{_PATH}/{key_id}")
            print(as_json({"id": key_id}) if wants_json else f"{key_id}: revoked")
    return 0


def _list(client: Client, *, wants_json: bool) -> None:
    found = list(client.items(_PATH, limit=200))
    if wants_json:
        for key in found:
            print(as_json(key))
    elif found:
        now = datetime.now(UTC)
        for line in table([_HEAD, *(_row(key, now=now) for key in found)], width=width(), flexible=1):
            print(line)
    else:
        print("No API keys yet. `omoi keys create --name NAME` creates one.")


def _row(key: Json, *, now: datetime) -> list[str]:
    used = f"{span((now - moment(key['last_used_at'])).total_seconds())} ago" if key["last_used_at"] else "never"
    return [key["id"], key["name"], key["scope"], key["last_four"], _status(key, now=now), used]


def _status(key: Json, *, now: datetime) -> str:
    if key["revoked_at"]:
        return "revoked"
    if key["expires_at"] is None:
        return "valid"
    left = (moment(key["expires_at"]) - now).total_seconds()
    return f"expires in {span(left)}" if left > 0 else "expired"


def _id(given: str | None) -> str:
    """Return the id of a key. Refuses anything else, which could lead to another path."""
    try:
        return str(UUID(given or ""))
    except ValueError:
        raise ConfigError("omoi keys revoke: give the id of a key; `omoi keys list` lists them") from None
