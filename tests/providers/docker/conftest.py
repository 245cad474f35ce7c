"""Sandboxes on a real Docker engine, and proof that none of them leaves anything behind."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import docker
import pytest

from omoi_os.providers.base import ExecResult, Resources, SandboxRef, SandboxSpec
from omoi_os.providers.docker.provider import DockerProvider
from omoi_os.providers.image import IMAGE_RUNTIME
from tests.providers.docker import dockerd

MEBIBYTE = 1024 * 1024

MakeSpec = Callable[..., SandboxSpec]
MakeProvider = Callable[[], DockerProvider]
Probe = Callable[..., Awaitable[ExecResult]]


@pytest.fixture(scope="session")
def host() -> Iterator[str]:
    """The address of an engine."""
    with contextlib.ExitStack() as stack:
        try:
            address = stack.enter_context(dockerd.engine())
        except dockerd.Impossible as reason:
            pytest.skip(f"no Docker engine: {reason}")
        yield address


@pytest.fixture(scope="session")
def image(host: str) -> str:
    """The name of the image that the repository's Dockerfile makes."""
    try:
        return dockerd.image()
    except dockerd.Impossible as reason:
        pytest.skip(f"no image: {reason}")


@pytest.fixture
def engine(host: str) -> Iterator[docker.DockerClient]:
    """The engine itself, to look at what the provider did."""
    with contextlib.closing(docker.DockerClient(host)) as client:
        yield client


@pytest.fixture
def owner() -> str:
    """The installation of this test."""
    return f"tests-{secrets.token_hex(6)}"


@pytest.fixture
async def make_provider(host: str, image: str) -> AsyncIterator[MakeProvider]:
    """Create providers that share no state; each stands for one of our processes."""
    async with contextlib.AsyncExitStack() as stack:

        def make() -> DockerProvider:
            made = DockerProvider(image=image, site=lambda: "here", host=host)
            stack.push_async_callback(made.close)
            return made

        yield make


@pytest.fixture
async def provider(
    make_provider: MakeProvider, engine: docker.DockerClient, owner: str
) -> AsyncIterator[DockerProvider]:
    """A provider whose sandboxes are all destroyed, and gone, after the test."""
    made = make_provider()
    yield made
    async for listed in made.list(owner=owner):
        await made.destroy(listed.ref)
    label = f"omoi.owner={owner}"
    assert engine.containers.list(all=True, filters={"label": label}) == []
    assert engine.volumes.list(filters={"label": label}) == []


@pytest.fixture
def make_spec(owner: str) -> MakeSpec:
    """A specification with defaults for what a test does not care about."""

    def make(argv: list[str] | None = None, **changes: Any) -> SandboxSpec:
        fields: dict[str, Any] = {
            "id": f"omoios-test-{secrets.token_hex(4)}",
            "owner": owner,
            "argv": argv or ["sleep", "600"],
            "env": {"PATH": "/usr/bin:/bin", "HOME": "/home/agent"},
            "resources": Resources(256 * MEBIBYTE, cpus=1, pids=64, disk_bytes=256 * MEBIBYTE),
            "lifetime": timedelta(seconds=120),
        }
        return SandboxSpec(**(fields | changes))

    return make


@pytest.fixture
async def sandbox(provider: DockerProvider, make_spec: MakeSpec) -> SandboxRef:
    """A sandbox whose first process waits."""
    return await provider.create(make_spec())


@pytest.fixture
def probe(provider: DockerProvider, sandbox: SandboxRef) -> Probe:
    """Run Python code inside the waiting sandbox."""

    async def run(code: str, *arguments: str, **options: Any) -> ExecResult:
        command = [IMAGE_RUNTIME.python, "-I", "-S", "-c", code, *arguments]
        return await provider.exec(sandbox, command, **({"timeout": timedelta(seconds=30)} | options))

    return run
