"""Fixtures: a platform, a repository on it and a real worker that talks to both."""

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from omoi_os.protocol.assignment import Assignment
from omoi_os.protocol.paths import GATEWAY_PORT
from omoi_os.worker.command import salvage_argv, worker_argv
from omoi_os.worker.paths import WorkerPaths
from tests.worker.platform import API, SANDBOX_ID, TOKEN, Platform

BRANCH = "feature/calculate-binomial-coefficient"
TASK_ID = "0190b2c4-0000-7000-8000-00000a1b2c3d"

#: Runs a command in a separate network namespace.
ALONE = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    command = ["git", "-c", "safe.directory=*", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder with a short path: the CLI keeps unix sockets below its home."""
    folder = Path(tempfile.mkdtemp(prefix="ow-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def platform(root: Path) -> AsyncIterator[Platform]:
    platform = Platform(root)
    await platform.start()
    yield platform
    await platform.stop()


@pytest.fixture
def repository(platform: Platform, root: Path) -> Path:
    """A bare repository with one commit on `main` and on the task's branch."""
    bare = platform.repositories / "demo.git"
    bare.mkdir(parents=True)
    git(bare, "init", "--quiet", "--bare", "--initial-branch=main")
    seed = root / "seed"
    git(root, "clone", "--quiet", str(bare), str(seed))
    (seed / "README.md").write_text("# Demo\n")
    git(seed, "add", "-A")
    git(seed, "commit", "--quiet", "-m", "First")
    git(seed, "push", "--quiet", "origin", "HEAD:refs/heads/main", f"HEAD:refs/heads/{BRANCH}")
    return bare


@dataclass
class Worker:
    """A worker's paths, and its process once it is started."""

    platform: Platform
    root: Path
    assignment: Assignment
    process: asyncio.subprocess.Process | None = None
    #: Only loopback, so that the gateway socket is the only way out.
    behind_gateway: bool = False

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def paths(self) -> WorkerPaths:
        """The paths of this worker."""
        return WorkerPaths.from_environ(self.where)

    @property
    def where(self) -> dict[str, str]:
        """The variables that name its paths; a waiting worker has no others."""
        return {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "OMOI_WORKSPACE": str(self.workspace),
            "OMOI_GATEWAY_FOLDER": str(self.root / "gateway_socket"),
            "OMOI_MIRROR": str(self.root / "mirror.git"),
        }

    def environ(self, **changes: object) -> dict[str, str]:
        """The environment of contract section 2, and nothing else."""
        url = f"http://127.0.0.1:{GATEWAY_PORT}" if self.behind_gateway else self.platform.url
        return {
            **self.where,
            "SANDBOX_ID": SANDBOX_ID,
            "TASK_DATA_BASE64": replace(self.assignment, **changes).encode(),  # type: ignore[arg-type]
            "USER_ID": "user-1",
            "CALLBACK_URL": f"{url}{API}/events",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_AUTH_TOKEN": TOKEN,
            "CLAUDE_CODE_MAX_RETRIES": "2",
        }

    async def start(self, **changes: object) -> asyncio.subprocess.Process:
        """Start the reporter as the provider would."""
        return await self.launch(worker_argv(), self.environ(**changes))

    async def launch(self, argv: list[str], environ: dict[str, str]) -> asyncio.subprocess.Process:
        """Start its first process."""
        self.home.mkdir(exist_ok=True)
        self.workspace.mkdir(exist_ok=True)
        command = [*ALONE, *argv] if self.behind_gateway else argv
        self.process = await asyncio.create_subprocess_exec(
            *command, env=environ, cwd="/", stderr=asyncio.subprocess.PIPE
        )
        return self.process

    async def run(self, argv: list[str], environ: dict[str, str], *, stdin: bytes = b"") -> tuple[int, bytes, str]:
        """Run a command beside it, as `exec` would. Return exit code, output and errors."""
        process = await asyncio.create_subprocess_exec(
            *(*ALONE, *argv) if self.behind_gateway else argv,
            env=environ,
            cwd="/",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(90):
                out, err = await process.communicate(stdin)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return process.returncode, out, err.decode()

    async def salvage(self, **changes: object) -> tuple[int, dict[str, Any]]:
        """Salvage with the environment of a normal start. Return the exit code and the printed JSON."""
        code, out, said = await self.run(salvage_argv(), self.environ(**changes))
        found = dict(json.loads(out))
        assert said.splitlines() == found["problems"]
        return code, found

    async def end(self) -> tuple[int, str]:
        """Wait for its end. Return its exit code and errors."""
        assert self.process
        assert self.process.stderr
        async with asyncio.timeout(90):
            said = (await self.process.stderr.read()).decode()
            return await self.process.wait(), said


@pytest.fixture
async def worker(platform: Platform, repository: Path, root: Path) -> AsyncIterator[Worker]:
    assignment = Assignment(
        sandbox_id=SANDBOX_ID,
        task_id=TASK_ID,
        attempt=1,
        title="Calculate binomial coefficient",
        description="Compute C(50,25) with Python.",
        branch_name=BRANCH,
        default_branch="main",
        git_url=f"{platform.url}/git/{repository.name}",
        acceptance=("python3 binomial.py",),
        model="claude-sonnet-4-5",
        max_turns=20,
    )
    worker = Worker(platform, root, assignment)
    yield worker
    if worker.process and worker.process.returncode is None:
        worker.process.kill()
        await worker.process.wait()
