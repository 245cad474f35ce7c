"""Tables for a terminal."""

import pytest

from omoi_os.cli.output.tables import cut, span, table


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("計算計算", 8, "計算計算"),
        ("計算計算", 7, "計算計…"),
        ("計算計算", 6, "計算…"),
    ],
)
def test_a_line_is_not_wider_than_the_given_columns(text: str, room: int, shown: str) -> None:
    assert cut(text, room) == shown


def test_only_the_flexible_column_is_shortened() -> None:
    lines = list(table([["ID", "WHAT"], ["omoios-1", "a very long\nstory \x1b[2J"]], width=24, flexible=1))

    assert lines == ["ID        WHAT", "omoios-1  a very long s…"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (7260, "2 h 1 min"), (90_000, "1 d 1 h")]
)
def test_a_duration_is_shown_in_its_largest_units(seconds: float, text: str) -> None:
    assert span(seconds) == text
