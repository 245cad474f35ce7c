"""A data folder keeps its identity wherever it is moved."""

import re
from pathlib import Path

import pytest

from omoi_os.config import load_settings
from omoi_os.errors import SetupError
from omoi_os.system.installation import site_of


def test_a_moved_data_folder_is_the_same_installation(short_tmp: Path) -> None:
    first = load_settings(environ={}, data_dir=short_tmp / "first").site
    (short_tmp / "first").rename(short_tmp / "second")
    assert load_settings(environ={}, data_dir=short_tmp / "second").site == first
    assert load_settings(environ={}, data_dir=short_tmp / "first").site != first


def test_a_data_folder_of_an_older_version_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "old" / "sandboxes").mkdir(parents=True)
    name = site_of(tmp_path / "old")
    (tmp_path / "old" / "site").unlink()
    assert site_of(tmp_path / "old") == name
    assert re.fullmatch("[0-9a-f]{16}", name)


def test_a_damaged_identity_is_named(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("")
    with pytest.raises(SetupError, match="is damaged"):
        site_of(tmp_path)
