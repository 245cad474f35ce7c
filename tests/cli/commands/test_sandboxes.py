"""`omoi sandboxes` and the errors of all commands that cannot use the API."""

import pytest

from tests.cli.conftest import Desk, lines_of_json
from tests.cli.test_main import omoi

KEY = "omoi_some-key-of-nobody"


def test_the_newest_are_listed_first_one_line_each(desk: Desk) -> None:
    older, newer = desk.reporters(1) + desk.reporters(1)

    listed = desk.omoi("sandboxes", "--limit", "2")
    running = desk.omoi("sandboxes", "--status", "running", "--json", "--limit", "1")
    lost = desk.omoi("sandboxes", "--status", "lost")

    head, *rows = [line.split() for line in listed.stdout.splitlines()]
    assert head == ["ID", "STATUS", "OUTCOME", "TASK", "PROVIDER", "ATTEMPT", "COST", "AGE"]
    assert [row[:4] for row in rows] == [[each.id, "running", "in", "progress"] for each in (newer, older)]
    assert rows[0][4:11] == ["Add", "a", "page", "local", "1", "$0.0000", rows[0][10]]
    assert [sandbox["id"] for sandbox in lines_of_json(running.stdout)] == [newer.id]
    assert lost.stdout == "No sandbox is lost.\n"


def test_a_title_in_any_script_can_be_written_to_any_terminal(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)
    desk.change(reporter, task={"title": "計算 " * 40 + "\u202eevil"})

    plain = desk.omoi("sandboxes", "--limit", "1", COLUMNS="100", PYTHONIOENCODING="ascii")
    wide = desk.omoi("sandboxes", "--limit", "1", COLUMNS="100", PYTHONIOENCODING="utf-8")

    assert (plain.returncode, plain.stderr) == (0, "")
    assert "\\u8a08" in plain.stdout
    assert "計算 計算" in wide.stdout
    assert "…" in wide.stdout
    assert "\u202e" not in wide.stdout


@pytest.mark.parametrize("command", [["sandboxes"], ["events", "x"], ["verify"]])
def test_a_platform_that_is_not_running_is_reported_at_once(command: list[str]) -> None:
    answer = omoi(*command, OMOI_PORT="1", OMOI_ADMIN_TOKEN=KEY)

    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert answer.stderr.startswith("omoi: http://127.0.0.1:1 does not answer (")
    assert "omoi serve" in answer.stderr


def test_without_a_key_none_is_generated_and_a_wrong_one_is_not_shown(desk: Desk) -> None:
    without = omoi("sandboxes", OMOI_DATA_DIR="/tmp/omoi-none", OMOI_PORT=str(desk.api.port))
    wrong = desk.omoi("sandboxes", OMOI_ADMIN_TOKEN=KEY)
    unwritable = desk.omoi("sandboxes", OMOI_ADMIN_TOKEN="omoi_key-with-é-in-it")

    assert without.stderr.startswith("omoi: no API key: OMOI_ADMIN_TOKEN is not set")
    assert "refused the token" in wrong.stderr
    for answer in (without, wrong, unwritable):
        assert (answer.returncode, answer.stderr.count("\n"), KEY in answer.stderr) == (1, 1, False)


@pytest.mark.parametrize("wrong", [["--limit", "0"], ["--limit", "many"], ["--status", "asleep"]])
def test_an_option_that_makes_no_sense_exits_with_2(wrong: list[str]) -> None:
    assert omoi("sandboxes", *wrong).returncode == 2
