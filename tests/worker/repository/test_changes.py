"""The changes of a tool call, found in real workspaces with real git."""

import itertools
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from omoi_os.worker.repository import changes as module
from omoi_os.worker.repository.changes import Changes, session_changes
from tests.worker.conftest import git

Edit = dict[str, Any]


@pytest.fixture
def workspace(root: Path) -> Path:
    """A checkout with a few files."""
    folder = root / "workspace"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "src" / "a.py").write_text("".join(f"line {number}\n" for number in range(30)))
    (folder / "src" / "b.py").write_text("b\n")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "First")
    return folder


@pytest.fixture
async def changes(workspace: Path, root: Path) -> Changes:
    """A comparison that has started."""
    changes = Changes(workspace, root / "tree")
    assert (await changes.begin()).error is None
    return changes


def sh(folder: Path, command: str) -> None:
    """Run a shell command in the workspace."""
    identity = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {**os.environ, **identity}
    subprocess.run(["sh", "-ec", command], cwd=folder, check=True, env=environ, capture_output=True)


def apply(folder: Path, diff: str, *options: str) -> str:
    """Let git apply a diff."""
    command = ["git", "apply", *options, "-"]
    return subprocess.run(command, cwd=folder, input=diff.encode(), capture_output=True, check=True).stdout.decode()


def difference(one: Path, other: Path) -> str:
    return subprocess.run(["diff", "-r", str(one), str(other)], capture_output=True, text=True).stdout


def named(edits: tuple[Edit, ...]) -> dict[str, str]:
    return {edit["file_path"]: edit["change_type"] for edit in edits}


async def test_each_way_to_change_a_file_is_told_once(changes: Changes, workspace: Path) -> None:
    sh(workspace, "sed -i s/'line 3$'/LINE/ src/a.py; rm src/b.py; echo x > 'new file'; touch empty noise.log")
    edits = (await changes.compare()).edits

    assert named(edits) == {"src/a.py": "modified", "src/b.py": "deleted", "new file": "created", "empty": "created"}
    assert (await changes.compare()).edits == ()
    edit = next(edit for edit in edits if edit["file_path"] == "src/a.py")
    assert (edit["lines_added"], edit["lines_removed"], edit["binary"]) == (1, 1, False)
    assert edit["full_diff"].startswith("--- a/src/a.py\n+++ b/src/a.py\n@@ ")
    assert edit["full_diff"] == edit["diff_preview"]
    assert edit["diff_size"] == len(edit["full_diff"])


async def test_all_diffs_together_give_the_workspace_again(changes: Changes, workspace: Path, root: Path) -> None:
    copy = root / "copy"
    git(root, "clone", "--quiet", str(workspace), str(copy))
    diffs: list[str] = []
    for command in (
        "git mv src/a.py src/moved.py; printf 'a\\nb' > end; echo é > 'ümläut \"q\"'; echo t > 'tab\there'",
        "chmod +x src/moved.py; ln -s moved.py src/link; sed -i 1d src/moved.py",
        "rm src/b.py; mkdir src/b.py; echo in > src/b.py/c; rm end; touch empty; chmod +x empty",
        "rm src/link; echo file > src/link; rm -r src/b.py; echo file-again > src/b.py",
        "rm src/b.py; mkdir src/b.py; touch src/b.py/x.log",
    ):
        sh(workspace, command)
        compared = await changes.compare()
        assert compared.error is None
        diffs += [edit["full_diff"] for edit in compared.edits]

    for diff in diffs:
        apply(copy, diff)
    sh(workspace, "rm -rf .git src/b.py")
    sh(copy, "rm -rf .git")
    assert difference(workspace, copy) == ""
    assert os.access(copy / "src" / "moved.py", os.X_OK)


async def test_a_renamed_file_names_both_and_a_binary_one_has_no_text(changes: Changes, workspace: Path) -> None:
    sh(workspace, "mv src/a.py src/z.py; sed -i s/'line 3$'/LINE/ src/z.py; printf 'a\\0b' > blob")
    binary, renamed = (await changes.compare()).edits

    assert (renamed["change_type"], renamed["old_path"], renamed["file_path"]) == ("renamed", "src/a.py", "src/z.py")
    assert (renamed["lines_added"], renamed["lines_removed"]) == (1, 1)
    assert "rename from src/a.py\nrename to src/z.py\n" in renamed["full_diff"]
    assert (binary["change_type"], binary["binary"], binary["lines_added"]) == ("created", True, 0)
    assert "Binary files /dev/null and b/blob differ" in binary["full_diff"]


async def test_what_the_agent_does_with_git_is_seen_by_what_it_does_to_files(changes: Changes, workspace: Path) -> None:
    sh(workspace, "echo c > c; git add -A; git commit --quiet -m c; git branch other HEAD~")
    assert named((await changes.compare()).edits) == {"c": "created"}
    sh(workspace, "git checkout --quiet other")
    assert named((await changes.compare()).edits) == {"c": "deleted"}
    sh(workspace, "git reset --quiet --hard main; git gc --quiet --prune=now")
    assert named((await changes.compare()).edits) == {"c": "created"}


async def test_nothing_of_the_repository_runs_and_nothing_is_written_into_it(
    changes: Changes, workspace: Path, root: Path
) -> None:
    evil = f"touch {root}/pwned; cat"
    names = [
        "core.fsmonitor",
        "diff.external",
        "diff.d.textconv",
        "filter.f.clean",
        "filter.f.process",
        "core.hooksPath",
    ]
    for name in names:
        git(workspace, "config", name, evil)
    (workspace / ".gitattributes").write_text("* filter=f diff=d\n")
    for hook in ("post-index-change", "fsmonitor-watchman"):
        script = workspace / ".git" / "hooks" / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\n{evil}\n")
        script.chmod(0o755)
    before = sorted((path, path.stat().st_mtime_ns) for path in (workspace / ".git").rglob("*"))
    (workspace / "src" / "b.py").write_text("changed\n")
    compared = await changes.compare()

    assert named(compared.edits) == {".gitattributes": "created", "src/b.py": "modified"}
    assert "+changed" in compared.edits[1]["full_diff"]
    assert not (root / "pwned").exists()
    assert sorted((path, path.stat().st_mtime_ns) for path in (workspace / ".git").rglob("*")) == before


async def test_repositories_inside_the_workspace_do_no_harm(changes: Changes, workspace: Path, root: Path) -> None:
    git(root, "init", "--quiet", "--initial-branch=main", str(root / "other"))
    git(root / "other", "commit", "--quiet", "--allow-empty", "-m", "x")
    sh(workspace, "mkdir inner; cd inner; git init --quiet; echo k > k")
    sh(workspace, f"git -c protocol.file.allow=always submodule --quiet add {root}/other module; echo l > after")
    compared = await changes.compare()

    assert compared.error is None
    assert {"after", ".gitmodules"} <= named(compared.edits).keys()
    sh(workspace / "module", "git commit --quiet --allow-empty -m y; echo m > m")
    assert (await changes.compare()).error is None


async def test_a_huge_file_is_told_by_its_name_and_size(changes: Changes, workspace: Path) -> None:
    with (workspace / "huge").open("wb") as huge:
        huge.truncate(300 * 1024 * 1024)
    (edit,) = (await changes.compare()).edits

    assert (edit["file_path"], edit["change_type"], edit["binary"]) == ("huge", "created", True)
    assert (edit["too_large"], edit["size"]) == (True, 300 * 1024 * 1024)
    assert (await changes.compare()).edits == ()
    (workspace / "huge").unlink()
    assert named((await changes.compare()).edits) == {"huge": "deleted"}

    (workspace / "src" / "b.py").write_bytes(b"b\n" * 5_000_000)
    (edit,) = (await changes.compare()).edits
    assert (edit["file_path"], edit["change_type"], edit["too_large"]) == ("src/b.py", "modified", True)
    sh(workspace, "git checkout --quiet src/b.py")
    assert named((await changes.compare()).edits) == {"src/b.py": "modified"}


async def test_very_many_files_are_told_up_to_a_number(
    changes: Changes, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 5)
    sh(workspace, "for n in 1 2 3 4 5 6 7 8; do echo $n > f$n; done")
    compared = await changes.compare()

    assert (len(compared.edits), compared.omitted) == (5, 3)
    assert all(edit["full_diff"] for edit in compared.edits)


async def test_a_diff_beyond_all_bounds_is_told_without_its_text(
    changes: Changes, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DIFF_BYTES", 2000)
    sh(workspace, "echo small > 1; seq 1000 > 2; echo small > 3")
    first, second, third = (await changes.compare()).edits

    assert first["full_diff"].endswith("+small\n")
    assert (second["full_diff"], second["full_diff_truncated"], second["lines_added"]) == (None, True, 1000)
    assert third["full_diff"] is None


async def test_a_repository_that_vanishes_is_one_error_and_files_are_seen_on(changes: Changes, workspace: Path) -> None:
    sh(workspace, "rm -rf .git; echo more >> src/a.py")
    compared = await changes.compare()
    assert compared.error is not None
    (workspace / "next").write_text("next\n")
    sh(workspace, "rm src/b.py")

    compared = await changes.compare()
    assert (compared.error, named(compared.edits)) == (None, {"next": "created", "src/b.py": "deleted"})


async def test_without_git_one_error_says_so_and_nothing_is_covered(
    workspace: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(root / "nothing"))
    changes = Changes(workspace, root / "tree")
    first = await changes.begin()

    assert first.error
    compared = await changes.compare()
    assert (compared.edits, compared.error) == ((), None)
    assert not await changes.cover(str(workspace / "src" / "a.py"), compared)


async def test_a_folder_that_is_no_repository_is_compared_too(root: Path) -> None:
    folder = root / "plain"
    folder.mkdir()
    (folder / "old").write_text("old\n")
    changes = Changes(folder, root / "tree")
    assert (await changes.begin()).error is None
    (folder / "old").write_text("new\n")

    (edit,) = (await changes.compare()).edits
    assert edit["full_diff"] == "--- a/old\n+++ b/old\n@@ -1 +1 @@\n-old\n+new\n"


async def test_only_files_that_a_comparison_can_see_are_covered(changes: Changes, workspace: Path, root: Path) -> None:
    compared = await changes.compare()
    (workspace / "out").symlink_to(root)
    for path, covered in {
        "src/a.py": True,
        f"{workspace}/src/new.py": True,
        "noise.log": False,
        "build/x": False,
        "/etc/hosts": False,
        "../x": False,
        "out/x": False,
    }.items():
        assert await changes.cover(path, compared) is covered, path


async def test_the_session_s_diff_is_all_that_differs_from_its_beginning(
    changes: Changes, workspace: Path, root: Path
) -> None:
    base = git(workspace, "rev-parse", "HEAD")
    sh(workspace, "echo c > c; git add -A; git commit --quiet -m c; sed -i 1d src/a.py; rm src/b.py; touch x.log")
    await changes.compare()
    sh(workspace, "echo d > d; git add d")
    with (workspace / "huge").open("wb") as huge:
        huge.truncate(100 * 1024 * 1024)
    (root / "tree" / "index.lock").touch()

    for folder in (root / "tree", root / "fresh"):
        diff = (await session_changes(workspace, folder, base=base))["session_diff"]
        listed = apply(root, diff, "--numstat")
        assert [line.split("\t")[2] for line in listed.splitlines()] == ["c", "d", "src/a.py", "src/b.py", "huge"]


async def test_a_session_whose_beginning_is_lost_says_why_it_has_no_diff(workspace: Path, root: Path) -> None:
    told = await session_changes(workspace, root / "tree", base="0" * 40)

    assert list(told) == ["session_diff_error"]


async def test_a_workspace_that_takes_long_is_compared_less_often(
    changes: Changes, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUICK_SECONDS", -1.0)
    monkeypatch.setattr(module, "_git_seconds", itertools.count(step=1000).__next__)
    sh(workspace, "echo 1 > one")
    assert named((await changes.compare()).edits) == {"one": "created"}
    sh(workspace, "echo 2 > two")
    assert (await changes.compare()).edits == ()

    assert named((await changes.compare(surely=True)).edits) == {"two": "created"}
