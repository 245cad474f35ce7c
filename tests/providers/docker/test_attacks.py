"""The named attacks on containers, and on containers without the hardening, where they must succeed."""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import docker
import pytest

from omoi_os.errors import ProviderUnavailable, SetupError
from omoi_os.providers.conformance import Bench
from omoi_os.providers.docker.provider import DockerProvider
from tests.attacks import catalogue, closed
from tests.providers.docker.weak import WeakContainers
from tests.providers.weak import bare_bench

pytestmark = pytest.mark.timeout(600)

#: What even such a container does not let through.
KEPT_BY_THE_ENGINE = {
    "keys_of_the_host_are_not_found": "the engine gives every container its own session keyring",
    "keys_of_the_host_are_not_listed": "the engine hides /proc/keys in every container",
    "no_descriptor_is_inherited": "the engine starts containers, so that they inherit nothing of ours",
}


@pytest.fixture
async def bench(make_provider: Callable[[], DockerProvider]) -> AsyncIterator[Bench]:
    async with Bench(make_provider) as made:
        yield made


@pytest.fixture
async def bare(engine: docker.DockerClient, image: str, short_tmp: Path) -> AsyncIterator[Bench]:
    with contextlib.closing(WeakContainers(engine, image=image, root=short_tmp)) as provider:
        async with bare_bench(provider) as made:
            yield made


@pytest.mark.parametrize("attack", catalogue.ATTACKS)
async def test_an_attack_is_stopped(attack: str, bench: Bench) -> None:
    await catalogue.stopped(bench, attack)


@pytest.mark.parametrize("attack", catalogue.ATTACKS)
async def test_without_the_hardening_the_same_attack_succeeds(attack: str, bare: Bench) -> None:
    await catalogue.succeeds(bare, attack, but=KEPT_BY_THE_ENGINE)


async def test_30_without_an_engine_nothing_runs_and_the_remedy_is_reported(bench: Bench) -> None:
    provider = DockerProvider(site=lambda: "here", host="unix:///nonexistent/docker.sock")

    with pytest.raises(ProviderUnavailable, match="set DOCKER_HOST"):
        await provider.create(bench.spec())
    with pytest.raises(SetupError, match="Start it"):
        provider.check()
    await provider.close()


def test_30_without_seccomp_nothing_runs(tmp_path: Path) -> None:
    assert closed.tried("container", tmp_path, with_seccomp=False).startswith("refused: touch in /")
    assert not (tmp_path / "ran").exists()

    assert closed.tried("container", tmp_path, with_seccomp=True) == "ran"
    assert (tmp_path / "ran").exists()


async def test_30_without_a_gateway_nothing_is_reached(bench: Bench) -> None:
    await closed.expect_closed_without_a_gateway(bench)
