"""Outputs that were too long for the model."""

import os
from pathlib import Path

import pytest

from omoi_os.worker.agents.claude.full_outputs import MAX_OUTPUT_BYTES, full_output


def told(path: Path) -> dict[str, object]:
    return {"stdout": "", "persistedOutputPath": str(path)}


def test_what_the_cli_put_aside_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "said").write_bytes(b"1\n" * 500_000 + b"\xff")

    assert full_output(told(tmp_path / "said")) == "1\n" * 500_000 + "\ufffd"


def test_more_than_fits_is_said_to_be_cut(tmp_path: Path) -> None:
    (tmp_path / "said").write_bytes(b"x" * (MAX_OUTPUT_BYTES + 1))
    output = full_output(told(tmp_path / "said"))

    assert output is not None
    assert output.removeprefix("x" * MAX_OUTPUT_BYTES) == f"\n[the first 8388608 of {MAX_OUTPUT_BYTES + 1} bytes]"


@pytest.mark.parametrize("structured", [None, "text", {}, {"persistedOutputPath": 3}, {"persistedOutputPath": "a\0b"}])
def test_a_result_that_names_no_file_has_none(structured: object) -> None:
    assert full_output(structured) is None


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/hostname")

    assert [full_output(told(tmp_path / name)) for name in ("pipe", "link", "none", ".")] == [None] * 4
