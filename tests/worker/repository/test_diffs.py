"""Diffs, checked by git itself."""

import random
import subprocess
from pathlib import Path

import pytest

from omoi_os.worker.repository.diffs import diff_patch, diff_texts


def apply(folder: Path, name: str, old: str | None, diff: str) -> str | None:
    """Return the result of applying a diff with git; None if the file is deleted."""
    file = folder / name
    file.unlink(missing_ok=True)
    if old is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(old.encode())
    # Outside a repository, so that no repository's settings matter.
    result = subprocess.run(["git", "apply", "-"], cwd=folder, input=diff.encode(), capture_output=True)
    assert result.returncode == 0, result.stderr.decode() + diff
    return file.read_bytes().decode() if file.exists() else None


LONG = "".join(f"{number}\n" for number in range(100))

CASES = [
    ("created", None, "a\nb\n"),
    ("created without a last newline", None, "a"),
    ("changed in the middle", LONG, LONG.replace("50\n", "fifty\n")),
    ("changed at both ends", LONG, "first\n" + LONG.replace("99\n", "last\n")),
    ("changed in two far places", LONG, LONG.replace("10\n", "x\n").replace("80\n", "y\nz\n")),
    ("newline at the end lost", "a\nb\n", "a\nb"),
    ("newline at the end gained", "a\nb", "a\nb\n"),
    ("emptied", "a\n", ""),
    ("filled", "", "a\n"),
    ("deleted", "a\nb\n", None),
    ("carriage returns and form feeds", "a\r\nb\x0cc\u2028d\r\n", "a\r\nB\x0cc\u2028d\r\n"),
    ("lines that look like a diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "--- a/x\n-x\n@@ -1 +1 @@\n+x\n"),
    ("repeated lines", "x\n" * 50, "x\n" * 51),
]


@pytest.mark.parametrize(("old", "new"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_git_applies_the_diff(root: Path, old: str | None, new: str | None) -> None:
    diff = diff_texts("folder/file.txt", old, new)

    assert apply(root, "folder/file.txt", old, diff.text) == (None if new is None else new)
    body = [line for line in diff.text.split("\n")[2:] if line[:2] != "@@"]
    assert diff.lines_added == sum(line.startswith("+") for line in body)
    assert diff.lines_removed == sum(line.startswith("-") for line in body)


@pytest.mark.parametrize("name", ["with space.txt", 'quo"te.txt', "back\\slash.txt", "tab\tname.txt", "grün.txt"])
def test_git_applies_diffs_of_files_with_odd_names(root: Path, name: str) -> None:
    assert apply(root, name, "a\n", diff_texts(name, "a\n", "b\n").text) == "b\n"


def test_git_applies_random_edits(root: Path) -> None:
    chance = random.Random(7)
    for _ in range(25):
        old = [f"{chance.randrange(5)}\n" for _ in range(chance.randrange(40))]
        new = [line for line in old if chance.random() > 0.2]
        for _ in range(chance.randrange(4)):
            new.insert(chance.randrange(len(new) + 1), "new\n")
        if new and new != old:
            assert apply(root, "f", "".join(old), diff_texts("f", "".join(old), "".join(new)).text) == "".join(new)


def test_no_change_is_no_diff() -> None:
    assert diff_texts("f", "a\n", "a\n").text == ""


def test_a_small_edit_of_a_large_file_is_a_small_diff() -> None:
    old = "".join(f"{number}\n" for number in range(300_000))
    diff = diff_texts("f", old, old.replace("150000\n", "here\n", 1))

    assert len(diff.text) < 200


def test_a_rewritten_large_file_is_one_hunk(root: Path) -> None:
    old, new = ("".join(f"{word}{number}\n" for number in range(20_000)) for word in ("a", "b"))
    diff = diff_texts("f", old, new)

    assert (diff.lines_added, diff.lines_removed) == (20_000, 20_000)
    assert apply(root, "f", old, diff.text) == new


def test_ready_made_hunks_become_a_diff(root: Path) -> None:
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+c"]}
    diff = diff_patch("f", [hunk])

    assert (diff.lines_added, diff.lines_removed) == (1, 1)
    assert apply(root, "f", "a\nb\n", diff.text) == "a\nc\n"
