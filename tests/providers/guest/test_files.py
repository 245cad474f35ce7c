"""Files below a folder are read and replaced, and no link leads out of it."""

import os
from pathlib import Path

import pytest

from omoi_os.providers.guest import files


def _open(folder: Path) -> int:
    return os.open(folder, files.FOLDER)


@pytest.mark.parametrize(
    ("path", "parts"), [("/home/a/b", ("a", "b")), ("/home/a//./b", ("a", "b")), ("/work/..a", ("..a",))]
)
def test_a_path_below_one_of_the_folders_is_split(path: str, parts: tuple[str, ...]) -> None:
    assert files.locate(path, ("/home", "/work")) == (path[:5], parts)


@pytest.mark.parametrize("path", ["/home", "/home/", "/home//etc", "/home/../etc", "/etc/a", "home/a", "/home/a\0"])
def test_any_other_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is not the path of a file under /home or /work"):
        files.locate(path, ("/home", "/work"))


def test_a_file_is_replaced_with_its_parents_and_read_again(tmp_path: Path) -> None:
    for content in (b"long content", b"short"):
        files.write(_open(tmp_path), ("a", "b"), [content[:2], content[2:]])

    assert b"".join(files.read(_open(tmp_path), ("a", "b"))) == b"short"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


@pytest.mark.parametrize("parts", [("link", "file"), ("file-link",)])
def test_a_link_is_not_followed(tmp_path: Path, parts: tuple[str, ...]) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "file").write_text("secret")
    (inside / "link").symlink_to(outside)
    (inside / "file-link").symlink_to(outside / "file")

    with pytest.raises(OSError, match=r"levels of symbolic links|Not a directory"):
        list(files.read(_open(inside), parts))
    if len(parts) > 1:
        with pytest.raises(OSError, match=r"levels of symbolic links|Not a directory"):
            files.write(_open(inside), parts, [b"x"])
    assert (outside / "file").read_text() == "secret"


def test_a_path_that_is_not_a_plain_file_or_is_too_large_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)

    with pytest.raises(ValueError, match="is not a plain file"):
        list(files.read(_open(tmp_path), ("pipe",)))
    with pytest.raises(ValueError, match="is larger than"):
        list(files.read(_open(tmp_path), ("large",)))
