"""Finding bwrap."""

import os
from pathlib import Path

import pytest

from omoi_os.errors import SetupError
from omoi_os.providers.local.host import bubblewrap


@pytest.fixture
def path_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is searched for programs before all others."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def a_bwrap(folder: Path, body: str, mode: int = 0o755) -> Path:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(mode)
    return program


def test_the_bwrap_that_is_found_works_here() -> None:
    assert bubblewrap.check() == bubblewrap.find()
    assert bubblewrap.describe().split()[0] == str(bubblewrap.find())


def test_the_systems_bwrap_is_preferred_when_it_is_recent(path_folder: Path) -> None:
    program = a_bwrap(path_folder, "echo bubblewrap 0.8.0")

    assert bubblewrap.find() == program


@pytest.mark.parametrize(("version", "mode"), [("0.7.0", 0o755), ("0.9.0", 0o4755)])
def test_an_old_or_a_setuid_bwrap_is_passed_over(path_folder: Path, version: str, mode: int) -> None:
    program = a_bwrap(path_folder, f"echo bubblewrap {version}", mode)

    assert bubblewrap.find() != program


def test_a_machine_that_refuses_namespaces_is_named_with_the_remedy(path_folder: Path) -> None:
    refusal = "bwrap: No permissions to create new namespace"
    a_bwrap(path_folder, f'[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit; echo "{refusal}" >&2; exit 1')

    with pytest.raises(SetupError, match=r"No permissions.*unprivileged_userns_clone"):
        bubblewrap.check()
