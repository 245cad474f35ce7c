"""The agent's notes are read with care: the agent can replace the file with anything."""

import os
from pathlib import Path

from omoi_os.worker.attempt.notes import MAX_BYTES, read_notes


def test_the_end_of_long_notes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    assert read_notes(path) == ""

    path.write_text("x" * MAX_BYTES + "the last thing\n")
    assert read_notes(path).endswith("the last thing")
    assert len(read_notes(path)) < MAX_BYTES


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")

    assert [read_notes(tmp_path / name) for name in ("link", "pipe", ".")] == ["", "", ""]
