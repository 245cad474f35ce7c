"""`omoi users`: list, add and deactivate users, and create sign-in links for them."""

from typing import Any

from omoi_os.cli.output.tables import as_json, as_line, moment, table, width
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import Json, connect
from omoi_os.errors import ConfigError, NotFound

_PATH = "/api/v1/users"
_HEAD = ("ID", "EMAIL", "NAME", "ROLE", "STATUS", "ADDED")


def run(parameters: dict[str, Any]) -> int:
    """Run one action."""
    action, user = parameters.pop("action"), parameters.pop("user", None)
    name, role = parameters.pop("name", None), parameters.pop("role", "member")
    wants_json = parameters.pop("json", False)
    if action != "list" and user is None:
        raise ConfigError(f"omoi users {action}: name the user by e-mail address, such as ada@example.org")
    with connect(parameters) as client:
        if action == "list":
            _list(client, wants_json=wants_json)
        elif action == "add":
            body = {"email": user, "name": name or user.partition("@")[0], "role": role}
            added = client.post(_PATH, body)
            print(as_json(added) if wants_json else f"{as_line(added['email'])}: added as {added['role']}")
        elif action == "deactivate":
            found = _find(client, user)
            client.delete(f"{_PATH}/{found['id']}")
            print(as_json({"id": found["id"]}) if wants_json else f"{as_line(found['email'])}: deactivated")
        else:
            link = client.post(f"{_PATH}/{_find(client, user)['id']}/sign-in-link", {})
            print(as_json(link) if wants_json else as_line(link["url"]))
    return 0


def _list(client: Client, *, wants_json: bool) -> None:
    found = list(client.items(_PATH, limit=200))
    if wants_json:
        for user in found:
            print(as_json(user))
    else:
        for line in table([_HEAD, *map(_row, found)], width=width(), flexible=2):
            print(line)


def _row(user: Json) -> list[str]:
    status = "deactivated" if user["deactivated_at"] else "active"
    added = f"{moment(user['created_at']):%Y-%m-%d}"
    return [user["id"], user["email"], user["name"], user["role"], status, added]


def _find(client: Client, named: str) -> Json:
    """Return the user with this e-mail address or id."""
    wanted = named.strip().lower()
    for user in client.items(_PATH, limit=200):
        if wanted in (user["email"], user["id"]):
            return user
    raise NotFound(f"there is no user {as_line(named)}; `omoi users list` lists them")
