"""Prepared checkouts of a default branch: created aside, renamed when complete, removed when no sandbox uses them."""

import asyncio
import secrets
import shutil
import signal
from pathlib import Path

from omoi_os.forges.bare import git
from omoi_os.forges.bare.folder_lock import locked
from omoi_os.protocol import paths
from omoi_os.providers import checkout_folder
from omoi_os.system import durable
from omoi_os.system.children import die_with_parent

#: With fewer files a clone is as fast. The upper limits keep a repository from filling this machine's disk.
MIN_FILES = 500
MAX_FILES = 500_000
MAX_BYTES = 2 << 30

#: Repositories with other object names would need another configuration.
_SHA1_DIGITS = 40

_CHECKOUT_SECONDS = 600
_MEASURE_SECONDS = 120
_CHUNK = 1 << 16

#: Link to the newest checkout that is ready.
_NEWEST = "newest"

#: Prefix of a checkout that is being created, by the process that holds the folder's lock.
_UNREADY = ".new-"

#: `checkstat`: inside a sandbox all files belong to its uid, so their owner differs from the index.
_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tcheckstat = minimal
"""


def newest(folder: Path) -> Path | None:
    """Return the checkout for a new sandbox, or None."""
    try:
        found = folder / (folder / _NEWEST).readlink()
    except OSError:
        return None
    return found if found.is_dir() else None


async def prepare(folder: Path, *, mirror: Path, commit: str) -> None:
    """Make a checkout of this commit the newest, unless its tree is too small or too large. Raises `ForgeError`."""
    await asyncio.to_thread(folder.mkdir, mode=0o700, exist_ok=True)
    with locked(folder) as held:
        if not held:
            return
        last = newest(folder)
        if last is None or not last.name.startswith(commit):
            if await _has_useful_size(mirror, commit):
                await _replace(folder, last, mirror=mirror, commit=commit)
            else:
                (folder / _NEWEST).unlink(missing_ok=True)
        await asyncio.to_thread(_remove_unused, folder)


def remove_unfinished(folder: Path) -> None:
    """Remove checkouts that a killed process left incomplete, and old ones that no sandbox uses. It blocks."""
    with locked(folder) as held:
        if held:
            _remove_unused(folder)


async def _replace(folder: Path, last: Path | None, *, mirror: Path, commit: str) -> None:
    """Create a checkout, from the last one if no sandbox uses it: most of its files stay as they are."""
    serial = secrets.token_hex(4)
    unready = folder / f"{_UNREADY}{serial}"
    if last is None or not _take(last, unready):
        checkout_folder.make_folder(unready)
    await _check_out(checkout_folder.tree_of(unready), mirror=mirror, commit=commit)
    # Otherwise the files could be empty after a power cut, under a name that marks them complete.
    await asyncio.to_thread(durable.sync_file_system, unready)
    unready.rename(folder / f"{commit}-{serial}")
    link = folder / f"{_UNREADY}link"
    link.unlink(missing_ok=True)
    link.symlink_to(f"{commit}-{serial}")
    link.replace(folder / _NEWEST)
    await asyncio.to_thread(durable.sync_folder, folder)


def _take(last: Path, unready: Path) -> bool:
    """Rename a checkout that no sandbox uses; return whether that was possible."""
    with checkout_folder.unused(last) as unused:
        if unused:
            last.rename(unready)
        return unused


async def _check_out(tree: Path, *, mirror: Path, commit: str) -> None:
    """Write the files from the mirror. Git reads only the mirror; the files of the tree's own `.git` are ours."""
    repository = tree / ".git"
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (repository / name).mkdir(parents=True, exist_ok=True)
    texts = {"config": _CONFIG, "objects/info/alternates": f"{paths.MIRROR}/objects\n", "HEAD": f"{commit}\n"}
    for name, text in texts.items():
        (repository / name).write_text(text)
    where = {"GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(repository / "index")}
    await git.run("read-tree", "--reset", "-u", commit, git_dir=mirror, variables=where, timeout=_CHECKOUT_SECONDS)
    (tree / paths.PREPARED).write_text(commit)


async def _has_useful_size(mirror: Path, commit: str) -> bool:
    """Return whether the tree is neither too small nor too large. A small repository can contain an endless tree."""
    if len(commit) != _SHA1_DIGITS:
        return False
    command = git.limited("git", f"--git-dir={mirror}", "ls-tree", "-r", "-l", "-z", commit)
    process = await git.start(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=git.environment(),
        preexec_fn=die_with_parent(signal.SIGTERM),
    )
    try:
        async with asyncio.timeout(_MEASURE_SECONDS):
            files, size = await _measure(process)
            return MIN_FILES <= files <= MAX_FILES and size <= MAX_BYTES and await process.wait() == 0
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            await git.end_group(process)


async def _measure(process: asyncio.subprocess.Process) -> tuple[int, int]:
    """Count files and bytes up to their limits."""
    assert process.stdout is not None  # noqa: S101
    files = size = 0
    rest = b""
    while files <= MAX_FILES and size <= MAX_BYTES and (chunk := await process.stdout.read(_CHUNK)):
        *entries, rest = (rest + chunk).split(b"\0")
        files += len(entries)
        # Mode, type, object, size, a tab and the name; a submodule has no size.
        size += sum(int(found) for entry in entries if (found := entry.split(b"\t")[0].split()[3]).isdigit())
    return files, size


def _remove_unused(folder: Path) -> None:
    last = newest(folder)
    for found in folder.iterdir():
        if found == last or found.is_symlink() or not found.is_dir():
            continue
        if found.name.startswith(_UNREADY):
            shutil.rmtree(found)
            continue
        aside = folder / f"{_UNREADY}{secrets.token_hex(4)}"
        if _take(found, aside):
            shutil.rmtree(aside)
