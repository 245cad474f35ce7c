"""Platforms for end-to-end tests: one that tests share, and fresh ones to break."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import IN_MEMORY
from tests.e2e.platform import Platform, one_for_all


@pytest.fixture(scope="session")
def platform(prepared: Path) -> Iterator[Platform]:
    """A platform that runs for the whole session; each test uses its own project."""
    with one_for_all(prepared, place=IN_MEMORY) as shared:
        yield shared


@pytest.fixture
def make_platform(prepared: Path) -> Iterator[Callable[..., Platform]]:
    """Platforms of a test's own; whatever of them still runs at the end is stopped."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir=IN_MEMORY))
    made: list[Platform] = []

    def make(**environment: str) -> Platform:
        platform = Platform(folder / str(len(made)), prepared=prepared, **environment)
        made.append(platform)
        return platform

    yield make
    for platform in made:
        if platform.process is not None and platform.process.poll() is None:
            platform.stop()
    shutil.rmtree(folder, ignore_errors=True)
