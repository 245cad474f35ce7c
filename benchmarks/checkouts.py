"""Measure a sandbox with a checkout: by plain clone, by reference clone, and as an overlay on a prepared checkout."""

import asyncio
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median
from uuid import uuid4

from omoi_os.forges import mirror_checkouts as checkouts
from omoi_os.forges.base import Repository
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors
from omoi_os.protocol import paths
from omoi_os.protocol.assignment import Assignment
from omoi_os.providers.base import Resources, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

SIZES = (12, 300, 2_000, 20_000)
WAYS = ("plain clone", "reference clone", "overlay")

_BRANCH = "feature/benchmark"
_LINES = 60
_SOON = timedelta(seconds=120)

#: The worker's own checkout. The mirror stands for the gateway too, so that only git is measured; its owner is another.
_CHECK_OUT = """
import asyncio, os, pathlib, sys, time
sys.path.insert(0, sys.argv[1])
from omoi_os.protocol.assignment import Assignment
from omoi_os.worker.repository.git import Repository
from omoi_os.worker.paths import WorkerPaths
trust = pathlib.Path('/home/agent/trust')
trust.write_text('[safe]\\n\\tdirectory = *\\n')
paths = WorkerPaths(mirror=pathlib.Path(sys.argv[3]))
repository = Repository(paths, Assignment.decode(sys.argv[2]), 'none', os.environ, {'GIT_CONFIG_GLOBAL': str(trust)})
started = time.perf_counter()
asyncio.run(repository.check_out())
print((time.perf_counter() - started) * 1000)
"""


async def measure(files: int, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each way, measured in turns."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-bench-", dir="/tmp"))
    try:
        forge, mirrors = LocalForge(folder / "repos"), Mirrors(folder / "repos")
        repository = Repository(uuid4(), None, None, "main", str(await asyncio.to_thread(_seed, folder, files)))
        await forge.ensure_repository(repository)
        await forge.create_branch(repository, _BRANCH)
        # Prepare one for every size, to see from which size on it is worth it.
        checkouts.MIN_FILES = 1
        await mirrors.prepare_checkout(repository)
        provider = LocalProvider(folder / "sandboxes")
        provider.check()
        ways = WAYS if provider.has_checkouts else WAYS[:-1]
        samples: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds + 1):
            for way in ways:
                took = await _time(provider, _spec(provider, mirrors, repository, way=way))
                if number:
                    samples[way].append(took)
        return samples
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _seed(folder: Path, files: int) -> Path:
    """Create a repository with one commit of this many files, about 40 in each folder."""
    seed = folder / "seed.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", seed], check=True)
    parts = ["commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 3\none\n"]
    for number in range(files):
        text = "".join(f"x{line} = {secrets.randbits(64)}\n" for line in range(_LINES))
        parts.append(f"M 644 inline src/p{number % 40}/m{number // 40 // 40}/f{number}.py\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", f"--git-dir={seed}", "fast-import", "--quiet"], input="".join(parts).encode(), check=True)
    return seed


def _spec(provider: LocalProvider, mirrors: Mirrors, repository: Repository, *, way: str) -> SandboxSpec:
    assignment = Assignment(
        sandbox_id="benchmark",
        task_id=str(uuid4()),
        attempt=1,
        title="benchmark",
        description="",
        branch_name=_BRANCH,
        default_branch="main",
        git_url=f"file://{paths.MIRROR}",
    )
    mirror = "/nonexistent" if way == "plain clone" else paths.MIRROR
    return SandboxSpec(
        id=f"omoios-bench-{secrets.token_hex(4)}",
        owner="benchmark",
        argv=[sys.executable, "-I", "-S", "-c", _CHECK_OUT, provider.runtime.source, assignment.encode(), mirror],
        env={"PATH": "/usr/bin:/bin", "HOME": paths.HOME},
        resources=Resources(memory_bytes=2 << 30, cpus=2, pids=256, disk_bytes=4 << 30),
        lifetime=_SOON,
        mirror=mirrors.find(repository),
        checkout=mirrors.checkout(repository) if way == "overlay" else None,
    )


async def _time(provider: LocalProvider, spec: SandboxSpec) -> float:
    """Return the time of creation plus checkout, without the interpreter's start, which is the same for all."""
    started = time.perf_counter()
    ref = await provider.create(spec)
    took = (time.perf_counter() - started) * 1000
    report = await provider.inspect(ref, wait=_SOON)
    said = (await provider.read_output(ref)).decode(errors="replace")
    await provider.destroy(ref)
    if report.exit_code != 0:
        raise RuntimeError(f"The checkout ended with {report.exit_code}: {said}")
    return took + float(said)


def report(sizes: Sequence[int], rounds: int) -> None:
    """Measure the sizes and print a table."""
    print(f"\nSandbox made and branch checked out, ms (median of {rounds} rounds)")
    print(f"{'files':>8} {WAYS[0]:>16} {WAYS[1]:>16} {WAYS[2]:>16} {'ratio':>8}")
    for files in sizes:
        found = {way: median(samples) for way, samples in asyncio.run(measure(files, rounds)).items()}
        shown = [f"{found[way]:.1f}" if way in found else "not here" for way in WAYS]
        ratio = f"{found[WAYS[2]] / found[WAYS[1]]:.2f}x" if WAYS[2] in found else ""
        print(f"{files:>8} {shown[0]:>16} {shown[1]:>16} {shown[2]:>16} {ratio:>8}")
