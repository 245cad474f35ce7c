"""`omoi users` against a real API."""

import httpx

from tests.cli.conftest import Desk, lines_of_json


def test_a_user_is_added_invited_and_deactivated(desk: Desk) -> None:
    added = desk.omoi("users", "add", "Eve@example.org", "--role", "member")
    link = desk.omoi("users", "link", "eve@example.org")
    listed = desk.omoi("users", "list")
    gone = desk.omoi("users", "deactivate", "eve@example.org")
    after = lines_of_json(desk.omoi("users", "list", "--json").stdout)

    assert (added.returncode, added.stdout) == (0, "eve@example.org: added as member\n")
    head, *rows = [line.split() for line in listed.stdout.splitlines()]
    assert head == ["ID", "EMAIL", "NAME", "ROLE", "STATUS", "ADDED"]
    assert rows[0][1:5] == ["eve@example.org", "Eve", "member", "active"]
    assert gone.stdout == "eve@example.org: deactivated\n"
    assert [user["deactivated_at"] is not None for user in after if user["email"] == "eve@example.org"] == [True]
    refused = httpx.get(link.stdout.strip())
    assert (refused.status_code, "deactivated" in refused.text) == (403, True)


def test_a_missing_or_unknown_user_is_one_sentence(desk: Desk) -> None:
    missing, unknown = desk.omoi("users", "link"), desk.omoi("users", "deactivate", "nobody@example.org")

    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "name the user by e-mail address" in missing.stderr
    assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)
    assert "there is no user nobody@example.org" in unknown.stderr
