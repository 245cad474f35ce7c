"""The processes of a PostgreSQL server: which run in a cluster, and when they end."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path


def find(cluster: Path) -> int | None:
    """Return the server's process id. Its working folder, the cluster, distinguishes it from a reused id."""
    try:
        pid = int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
        return None
    return pid if pid > 0 and _works_in(pid, cluster) else None


def processes_in(cluster: Path) -> Iterator[int]:
    """Return every PostgreSQL process in this cluster, including backends that a killed server left behind."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _works_in(int(entry.name), cluster):
            yield int(entry.name)


async def process_end(pid: int) -> None:
    """Return once this process, which need not be our child, has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _works_in(pid: int, cluster: Path) -> bool:
    process = Path("/proc") / str(pid)
    try:
        return (process / "comm").read_text().strip() == "postgres" and (process / "cwd").readlink() == cluster
    except OSError:
        return False
