"""The named attacks on local sandboxes, and on plain processes of the host, where they must succeed."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.providers.conformance import Bench
from omoi_os.providers.local.host.machine import Machine
from omoi_os.providers.local.host.provider import LocalProvider
from tests.attacks import catalogue, closed
from tests.providers.weak import WeakProvider, bare_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(lambda: LocalProvider(tmp_path / "sandboxes")) as made:
        yield made


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bare_bench(WeakProvider(tmp_path)) as made:
        yield made


@pytest.mark.parametrize("attack", catalogue.ATTACKS)
async def test_an_attack_is_stopped(attack: str, bench: Bench) -> None:
    await catalogue.stopped(bench, attack)


@pytest.mark.parametrize("attack", catalogue.ATTACKS)
async def test_without_walls_the_same_attack_succeeds(attack: str, bare: Bench) -> None:
    await catalogue.succeeds(bare, attack)


async def test_the_host_s_command_line_is_not_shown(bench: Bench, bare: Bench) -> None:
    read = ["cat", "/proc/cmdline"]

    assert (await bench.exec(await bench.make(), read)).stdout == b""
    assert (await bare.exec(await bare.make(), read)).stdout == Path("/proc/cmdline").read_bytes() != b""


def a_bwrap(folder: Path) -> Path:
    """One of the right version that makes no sandboxes."""
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit\necho not here >&2; exit 1\n')
    program.chmod(0o755)
    return program


async def test_30_without_a_working_bwrap_nothing_runs_and_nothing_is_left(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "sandboxes"
    program = a_bwrap(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    bench.restart()
    spec = bench.spec()

    with pytest.raises(ProviderError, match="not here"):
        await bench.create(spec)
    program.unlink()
    with pytest.raises(ProviderError, match="No such file"):
        await bench.create(spec)

    assert list(root.iterdir()) == []
    assert not any(Path(group).exists() for group in Machine().groups_for(root / spec.id).values())
    bench.restart()
    assert await bench.create(spec) == spec.id


def test_30_without_seccomp_nothing_runs(tmp_path: Path) -> None:
    assert closed.tried("local", tmp_path, with_seccomp=True) == "ran"

    assert closed.tried("local", tmp_path, with_seccomp=False).startswith("refused: Sandbox omoios-closed could not")
    assert list((tmp_path / "sandboxes").iterdir()) == []


async def test_30_without_a_gateway_nothing_is_reached(bench: Bench) -> None:
    await closed.expect_closed_without_a_gateway(bench)
