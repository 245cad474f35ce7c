"""The image that the repository's Dockerfile makes."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import claude_agent_sdk
import docker
import pytest

from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxRef
from omoi_os.providers.docker.provider import DockerProvider
from omoi_os.providers.image import IMAGE_RUNTIME, IMAGE_UID

pytestmark = pytest.mark.timeout(600)

Probe = Callable[..., Awaitable[ExecResult]]


async def test_it_runs_as_the_user_agent_by_default(engine: docker.DockerClient, image: str) -> None:
    config = engine.images.get(image).attrs["Config"]

    assert (config["User"], config["WorkingDir"]) == ("agent", paths.WORKSPACE)


async def test_the_worker_the_agents_sdk_its_program_and_git_work_inside(
    provider: DockerProvider, sandbox: SandboxRef, probe: Probe
) -> None:
    patience = timedelta(seconds=60)
    own = "import sys; sys.path.insert(0, sys.argv[1]); from omoi_os.worker import main; print(main.__name__)"
    program = "import claude_agent_sdk, pathlib, subprocess\nplace = pathlib.Path(claude_agent_sdk.__file__).parent\n"
    program += "print(claude_agent_sdk.__version__)\nsubprocess.run([place / '_bundled' / 'claude', '--version'])"

    worker = await probe(own, IMAGE_RUNTIME.source)
    sdk = await provider.exec(sandbox, [IMAGE_RUNTIME.python, "-I", "-u", "-c", program], timeout=patience)
    git = await provider.exec(sandbox, ["git", "--version"], timeout=patience)

    assert worker.stdout == b"omoi_os.worker.main\n", worker.stderr
    assert sdk.stdout.decode().split("\n")[0] == claude_agent_sdk.__version__, sdk.stderr
    assert b"Claude" in sdk.stdout, sdk.stderr
    assert git.stdout.startswith(b"git version"), git.stderr


async def test_home_and_workspace_belong_to_the_agent(probe: Probe) -> None:
    look = (
        "import os, sys, pwd; print([os.stat(path).st_uid for path in sys.argv[1:]], pwd.getpwuid(os.getuid()).pw_dir)"
    )

    found = await probe(look, paths.HOME, paths.WORKSPACE)

    assert found.stdout.decode() == f"[{IMAGE_UID}, {IMAGE_UID}] {paths.HOME}\n"
