"""The local forge: bare repositories that the platform hosts itself."""

import asyncio
import fcntl
import os
import secrets
import shutil
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import UUID

from omoi_os.errors import ForgeError
from omoi_os.forges import prepared as checkouts
from omoi_os.forges.bare import damage, durability, git
from omoi_os.forges.bare import stale_locks as locks
from omoi_os.forges.base import Repository
from omoi_os.forges.local import claims
from omoi_os.forges.local.held_refs import hold
from omoi_os.system import durable
from omoi_os.system.children import kill_marked

#: The largest pack that one push may bring.
MAX_PUSH_BYTES = 1 << 30

#: How the folder of a repository's prepared checkouts ends.
_CHECKOUTS = ".checkouts"

_CLONE_SECONDS = 600
#: A seed is chosen by an administrator and may be large.
_CLONE_MEMORY_BYTES = 4 << 30

#: In the environment of the processes that fill a folder: which one.
_MARK = "OMOI_UNFINISHED"

_CONFIG = {
    "receive.denyDeletes": "true",
    "receive.fsckObjects": "true",
    "receive.maxInputSize": str(MAX_PUSH_BYTES),
    "receive.advertisePushOptions": "false",
    "uploadpack.allowReachableSHA1InWant": "true",
}


class LocalForge:
    """Implements `Forge` over `root/<project_id>.git`."""

    name = "local"

    def __init__(self, root: Path) -> None:
        self.root = root

    def mirror(self, repository: Repository) -> Path | None:
        """The repository itself: it is on this machine."""
        path = self.path(repository)
        return path if path.is_dir() else None

    def checkout(self, repository: Repository) -> Path | None:
        """The newest that is ready."""
        return checkouts.newest(self._checkouts(repository))

    async def prepare_checkout(self, repository: Repository) -> None:
        """Beside the repository."""
        commit = claims.required(await self.branch_head(repository, repository.default_branch), repository)
        await checkouts.prepare(self._checkouts(repository), mirror=self.path(repository), commit=commit)

    def path(self, repository: Repository) -> Path:
        """The bare repository's folder, whether or not it is there."""
        return self.root / f"{repository.project_id}.git"

    def checkouts_of(self, git_dir: Path) -> Path:
        """The folder of prepared checkouts beside a repository of this forge, whether or not it is there."""
        return self.root / f"{git_dir.stem}{_CHECKOUTS}"

    def _checkouts(self, repository: Repository) -> Path:
        return self.root / f"{repository.project_id}{_CHECKOUTS}"

    async def ensure_repository(self, repository: Repository) -> None:
        """Made aside and renamed, so that a kill half-way leaves nothing that looks like a repository."""
        if await asyncio.to_thread(self.path(repository).is_dir):
            return
        aside, lock = await asyncio.to_thread(self._make_aside, repository)
        try:
            made = aside / "repository.git"
            if repository.seed:
                await _clone(seed_path(repository.seed, self.root), made, config=aside / "gitconfig")
            else:
                await git.run("init", "--quiet", "--bare", "--template=", "--", str(made))
            await _settle(made, repository)
            await asyncio.to_thread(_rename, made, self.path(repository))
        finally:
            await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)
            os.close(lock)

    def remove_unfinished(self) -> None:
        """Remove what a killed process left of repositories and checkouts that it was making. It blocks."""
        for left in self.root.glob(".*.*"):
            lock = _try_lock(left)
            if lock is not None:
                kill_marked(_MARK, str(left))
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)
        for repository in self.root.glob("*.git"):
            locks.clear_all(repository)
        for folder in self.root.glob(f"*{_CHECKOUTS}"):
            checkouts.remove_unfinished(folder)

    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        """At the head of the default branch. A ref outside of `refs/heads` records which task it was created for."""
        if task_id is not None:
            refs = [_ref(name), f"{claims.CLAIMS}/{task_id}/{name}"]
            await asyncio.to_thread(locks.clear, self.path(repository), refs)
            start = await claims.create_branch(self.path(repository), repository, name, task_id=task_id)
            await asyncio.to_thread(durability.sync_refs, self.path(repository), refs)
            return start
        heads = await _heads(self.path(repository), name, repository.default_branch)
        if name in heads:
            return heads[name]
        await asyncio.to_thread(locks.clear, self.path(repository), [_ref(name)])
        start = claims.required(heads.get(repository.default_branch), repository)
        try:
            await git.run("update-ref", _ref(name), start, "0" * len(start), git_dir=self.path(repository))
            await self.settle(repository, name)
        except ForgeError:
            if head := await self.branch_head(repository, name):
                return head
            raise
        return start

    async def branch_head(self, repository: Repository, name: str) -> str | None:
        """The commit, or None when there is no such branch."""
        return (await _heads(self.path(repository), name)).get(name)

    def held(self, repository: Repository, name: str, commit: str) -> AbstractAsyncContextManager[bool]:
        """Keep the branch from moving while the block runs, if it is at this commit."""
        return hold(self.path(repository), _ref(name), commit)

    async def damage(self, repository: Repository) -> str | None:
        """Looks at refs, packs and loose objects; None also for a repository that was not made yet."""
        path = self.path(repository)
        if not await asyncio.to_thread(path.is_dir):
            return None
        return await damage.find(path)

    async def settle(self, repository: Repository, name: str) -> None:
        """Have the branch, as it is now, on disk."""
        await asyncio.to_thread(durability.sync_refs, self.path(repository), [_ref(name)])

    async def has_commits(self, repository: Repository, name: str) -> bool:
        """Whether the branch holds commits that the default branch does not."""
        heads = await _heads(self.path(repository), name, repository.default_branch)
        if name not in heads:
            return False
        head, base = heads[name], claims.required(heads.get(repository.default_branch), repository)
        return bool(await git.run("rev-list", "--max-count=1", head, f"^{base}", "--", git_dir=self.path(repository)))

    def _make_aside(self, repository: Repository) -> tuple[Path, int]:
        """A new folder and its lock, which is held while it is in use: an unlocked one was left by a killed process."""
        durable.make_folder(self.root, mode=0o700)
        while True:
            aside = self.root / f".{repository.project_id}.{secrets.token_hex(4)}"
            aside.mkdir(mode=0o700)
            lock = _try_lock(aside)
            if lock is not None:
                return aside, lock


def _try_lock(folder: Path) -> int | None:
    """Lock a folder without waiting; the descriptor holds the lock. None if it is locked or gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if folder.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def seed_path(seed: str, root: Path) -> Path:
    """The folder a seed names. Only local ones are taken, and none of the platform's own repositories."""
    text = seed.removeprefix("file://")
    path = Path(text)
    if not path.is_absolute():
        raise ForgeError(
            f"the local forge cannot be seeded from {seed!r}: give the absolute path of a local repository"
        )
    if path.resolve().is_relative_to(root.resolve()):
        raise ForgeError(f"the local forge cannot be seeded from {seed!r}: it belongs to another project")
    return path


def _ref(name: str) -> str:
    return f"refs/heads/{name}"


def _rename(made: Path, target: Path) -> None:
    try:
        durability.put_in_place(made, target)
    except OSError as error:
        if not target.is_dir():
            raise ForgeError(f"the repository {target} could not be put in place: {error.strerror}") from error


async def _clone(seed: Path, made: Path, *, config: Path) -> None:
    # The seed may belong to another user than the platform's; upload-pack, which reads it, is made for
    # repositories that are not trusted and does not see this process's own configuration.
    await asyncio.to_thread(config.write_text, "[safe]\n\tdirectory = *\n")
    await git.run(
        *("clone", "--quiet", "--bare", "--no-local", "--template=", "--", str(seed), str(made)),
        global_config=str(config),
        # All its children carry this as well: those that outlive it can be found by it.
        variables={_MARK: str(config.parent)},
        timeout=_CLONE_SECONDS,
        memory=_CLONE_MEMORY_BYTES,
    )
    await git.run("config", "--remove-section", "remote.origin", git_dir=made)


async def _settle(made: Path, repository: Repository) -> None:
    """Give a new repository its configuration and a commit on its default branch."""
    for key, value in _CONFIG.items():
        await git.run("config", key, value, git_dir=made)
    ref = _ref(repository.default_branch)
    await git.run("check-ref-format", ref)
    if not await _heads(made, repository.default_branch):
        heads = await git.run("for-each-ref", "--count=1", "refs/heads/", git_dir=made)
        start = await git.run("rev-parse", "--verify", "HEAD^{commit}", git_dir=made) if heads else ""
        await git.run("update-ref", ref, start or await _first_commit(made, repository), git_dir=made)
    await git.run("symbolic-ref", "HEAD", ref, git_dir=made)


async def _first_commit(made: Path, repository: Repository) -> str:
    title = repository.name or "Project"
    blob = await git.run("hash-object", "-w", "--stdin", git_dir=made, stdin=f"# {title}\n".encode())
    tree = await git.run("mktree", git_dir=made, stdin=f"100644 blob {blob}\tREADME.md\n".encode())
    return await git.run("commit-tree", "-m", "First commit", tree, git_dir=made)


async def _heads(git_dir: Path, *names: str) -> dict[str, str]:
    """The commits of those of these branches that are there."""
    refs = [_ref(name) for name in names]
    listed = await git.run("for-each-ref", "--format=%(objectname) %(refname)", "--", *refs, git_dir=git_dir)
    found = {ref: commit for commit, _, ref in (line.partition(" ") for line in listed.splitlines())}
    return {name: found[_ref(name)] for name in names if _ref(name) in found}
