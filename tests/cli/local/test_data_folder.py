"""The data folder: private, and used by one platform at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from omoi_os.cli.local import data_folder as folder
from omoi_os.errors import SetupError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    folder.prepare(tmp_path / "a" / "b")

    assert mode(tmp_path / "a" / "b") == 0o700


def test_an_empty_folder_is_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    folder.prepare(tmp_path)

    assert mode(tmp_path) == 0o700


def test_an_accessible_folder_with_other_files_is_refused_and_not_changed(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear diary")
    tmp_path.chmod(0o755)

    with pytest.raises(SetupError, match="accessible to other users and not empty"):
        folder.prepare(tmp_path)

    assert mode(tmp_path) == 0o755


def test_an_accessible_data_folder_is_made_private_again(tmp_path: Path) -> None:
    with folder.Lock(tmp_path):
        tmp_path.chmod(0o755)

        folder.prepare(tmp_path)

    assert mode(tmp_path) == 0o700


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SetupError, match=f"the data folder {tmp_path}/file cannot be used"):
        folder.prepare(tmp_path / "file")


def test_a_second_platform_names_the_process_that_uses_the_folder(tmp_path: Path) -> None:
    with folder.Lock(tmp_path), pytest.raises(SetupError, match=rf"process {os.getpid()}\) uses {tmp_path}"):
        folder.Lock(tmp_path)


def test_a_clean_exit_is_not_reported_as_unclean(tmp_path: Path) -> None:
    with folder.Lock(tmp_path) as first:
        assert not first.unclean
    with folder.Lock(tmp_path) as second:
        assert not second.unclean


HOLDING = """
import signal, sys
from pathlib import Path
from omoi_os.cli.local import data_folder as folder
lock = folder.Lock(Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""


def test_the_lock_of_a_killed_process_is_free_and_unclean(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.send_signal(signal.SIGKILL)

    with folder.Lock(tmp_path) as lock:
        assert lock.unclean
