"""`omoi keys` against a real API."""

from tests.cli.conftest import Desk, lines_of_json


def test_a_key_is_created_used_listed_and_revoked(desk: Desk) -> None:
    created = desk.omoi("keys", "create", "--name", "laptop", "--scope", "read", "--expires-in-days", "2")
    key = created.stdout.strip()
    reading = desk.omoi("keys", "list", OMOI_ADMIN_TOKEN=key)
    writing = desk.omoi("keys", "create", "--name", "more", OMOI_ADMIN_TOKEN=key)
    (row,) = [one for one in lines_of_json(desk.omoi("keys", "list", "--json").stdout) if one["name"] == "laptop"]
    revoked = desk.omoi("keys", "revoke", row["id"])
    after = desk.omoi("keys", "list", OMOI_ADMIN_TOKEN=key)

    assert (created.returncode, key.startswith("omoi_")) == (0, True)
    (shown,) = [line for line in reading.stdout.splitlines() if " laptop " in line]
    assert shown.split()[1:] == ["laptop", "read", key[-4:], "expires", "in", "1", "d", "23", "h", "never"]
    assert (writing.returncode, "may only read" in writing.stderr) == (1, True)
    assert revoked.stdout == f"{row['id']}: revoked\n"
    assert (after.returncode, "refused the token" in after.stderr) == (1, True)
    assert key not in after.stderr + writing.stderr + reading.stdout


def test_a_bad_id_or_a_missing_name_is_one_sentence(desk: Desk) -> None:
    for arguments, sentence in (
        (("create",), "give the key a name"),
        (("revoke",), "give the id of a key"),
        (("revoke", "../users"), "give the id of a key"),
    ):
        answer = desk.omoi("keys", *arguments)
        assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
        assert sentence in answer.stderr
