"""Keeps a branch of a bare repository from moving, with git's own lock on the ref."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import git, stale_locks

#: How long to wait for a push that holds the ref, which it does only while it moves the ref.
_LOCK_MILLISECONDS = 10_000
_SECONDS = 60.0


@asynccontextmanager
async def hold(git_dir: Path, ref: str, commit: str) -> AsyncIterator[bool]:
    """Hold the ref while the block runs, if it is at this commit; the value is False otherwise. Raises `ForgeError`.

    The lock is released when this process ends, however it ends, because git then reaches the end of its input.
    """
    await asyncio.to_thread(stale_locks.clear, git_dir, [ref])
    process = await git.start(
        *("git", f"--git-dir={git_dir}", "-c", f"core.filesRefLockTimeout={_LOCK_MILLISECONDS}"),
        *("update-ref", "--stdin"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=git.environment(),
    )
    assert process.stdin is not None  # noqa: S101  all are pipes
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(f"start\nverify {ref} {commit}\nprepare\n".encode())
        is_held = await _is_prepared(process)
        if not is_held and not await _has_moved(git_dir, ref, commit):
            raise ForgeError(f"{ref} is locked by another process")
        yield is_held
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(_SECONDS):
                await process.communicate()
        except TimeoutError:
            await git.end_group(process)


async def _is_prepared(process: asyncio.subprocess.Process) -> bool:
    """Return whether git holds the ref; otherwise git has ended."""
    assert process.stdout is not None  # noqa: S101
    try:
        async with asyncio.timeout(_SECONDS):
            await process.stdout.readline()
            return (await process.stdout.readline()).strip() == b"prepare: ok"
    except TimeoutError:
        return False


async def _has_moved(git_dir: Path, ref: str, commit: str) -> bool:
    listed = await git.run("for-each-ref", "--format=%(objectname)", "--", ref, git_dir=git_dir)
    return listed != commit
