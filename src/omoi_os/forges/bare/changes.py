"""Reads what a commit changes from a bare repository. Nothing in the repository is run."""

import asyncio
from collections.abc import AsyncIterator, Set
from pathlib import Path

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import git

#: How much of a listing is read: one push can name millions of files.
_MAX_LIST_BYTES = 16 << 20
_CHUNK_BYTES = 1 << 16
_SECONDS = 60

#: Suffixes of files that can be a command or module of that name.
_CODE = frozenset({"py", "pyx", "pyi", "so", "js", "cjs", "mjs", "ts", "tsx", "jsx", "json", "node", "sh", "rb", "pl"})

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-renames")


async def base_of(git_dir: Path, commit: str, *, branch: str) -> str:
    """Return the commit at which this one left the branch; the branch's head if they have no common history."""
    head = await git.run("rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}", git_dir=git_dir)
    try:
        return await git.run("merge-base", head, commit, git_dir=git_dir)
    except ForgeError:
        return head


async def changed_paths(git_dir: Path, base: str, commit: str) -> AsyncIterator[tuple[str, str]]:
    """Yield the status (`A`, `M`, `D`, `T`) and the path of every file that differs."""
    arguments = ("diff-tree", "-r", "-z", "--name-status", *_PLAIN, base, commit, "--")
    status = ""
    async for entry in _entries(git_dir, *arguments):
        if status:
            yield status, entry
            status = ""
        else:
            status = entry


async def has_program(git_dir: Path, commit: str, names: Set[str], *, folders: bool) -> bool:
    """Return whether the commit has a program of one of these names: a code file or, with `folders`, a folder."""
    async for path in _entries(git_dir, "ls-tree", "-r", "-z", "--name-only", commit):
        *parents, name = path.split("/")
        stem, _, ending = name.partition(".")
        if name in names or (stem in names and ending in _CODE):
            return True
        if folders and not names.isdisjoint(parents):
            return True
    return False


async def has_path(git_dir: Path, commit: str, path: str) -> bool:
    """Return whether the commit has a file at this path."""
    async for found in _entries(git_dir, "ls-tree", "-z", "--name-only", commit, "--", f":(literal){path}"):
        return found == path
    return False


async def touches_word(git_dir: Path, base: str, commit: str, word: str) -> bool:
    """Return whether the change adds or removes this text anywhere."""
    arguments = ("diff-tree", "-r", "-z", "--name-only", f"-S{word}", *_PLAIN, base, commit, "--")
    async for _ in _entries(git_dir, *arguments):
        return True
    return False


async def _entries(git_dir: Path, *arguments: str) -> AsyncIterator[str]:
    """Yield the NUL-separated entries that git lists, up to a limit. Raises `ForgeError`."""
    process = await git.start(
        *("git", f"--git-dir={git_dir}", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=git.environment(),
    )
    assert process.stdout is not None  # noqa: S101
    rest, left = b"", _MAX_LIST_BYTES
    try:
        async with asyncio.timeout(_SECONDS):
            while left > 0 and (chunk := await process.stdout.read(_CHUNK_BYTES)):
                left -= len(chunk)
                *entries, rest = (rest + chunk).split(b"\0")
                for entry in entries:
                    yield entry.decode(errors="replace")
            if left > 0 and await process.wait() != 0:
                raise ForgeError(f"git {arguments[0]} failed on {git_dir.name}")
    except TimeoutError:
        raise ForgeError(f"git {arguments[0]} did not end within {_SECONDS} s") from None
    finally:
        if process.returncode is None:
            await git.end_group(process)
