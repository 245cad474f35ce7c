"""The local forge: bare repositories that the platform hosts itself."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import UUID

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import creation, durability, git, stale_locks
from omoi_os.forges.bare.layout import path_of
from omoi_os.forges.bare.refs import branch_ref, heads, require_head
from omoi_os.forges.base import Repository
from omoi_os.forges.local import claims
from omoi_os.forges.local.branch_lock import hold

_CLONE_SECONDS = 600
#: A seed is chosen by an administrator and may be large.
_CLONE_MEMORY_BYTES = 4 << 30

_CONFIG = {
    "receive.denyDeletes": "true",
    "receive.fsckObjects": "true",
    "receive.maxInputSize": str(git.MAX_PUSH_BYTES),
    "receive.advertisePushOptions": "false",
    "uploadpack.allowReachableSHA1InWant": "true",
}


class LocalForge:
    """Implements `Forge` with repositories in `root/<project_id>.git`."""

    name = "local"

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, repository: Repository) -> Path:
        """Return the folder of the bare repository, which may not exist yet."""
        return path_of(self.root, repository)

    async def ensure_repository(self, repository: Repository) -> None:
        """Create the repository, unless it exists: empty with a first commit, or as a clone of its seed."""
        if await asyncio.to_thread(self.path(repository).is_dir):
            return
        async with creation.creating(self.path(repository)) as created:
            if repository.seed:
                await _clone(seed_path(repository.seed, self.root), created)
            else:
                await git.run("init", "--quiet", "--bare", "--template=", "--", str(created))
            await _configure(created, repository)

    async def create_branch(self, repository: Repository, name: str, *, task_id: UUID | None = None) -> str:
        """Create a branch at the head of the default branch. A ref outside `refs/heads` records its task."""
        git_dir = self.path(repository)
        if task_id is not None:
            refs = [branch_ref(name), claims.claim_ref(task_id, name)]
            await asyncio.to_thread(stale_locks.clear, git_dir, refs)
            start = await claims.create_branch(git_dir, repository, name, task_id=task_id)
            await asyncio.to_thread(durability.sync_refs, git_dir, refs)
            return start
        found = await heads(git_dir, name, repository.default_branch)
        if name in found:
            return found[name]
        await asyncio.to_thread(stale_locks.clear, git_dir, [branch_ref(name)])
        start = require_head(found.get(repository.default_branch), repository)
        try:
            await git.run("update-ref", branch_ref(name), start, "0" * len(start), git_dir=git_dir)
            await self.settle(repository, name)
        except ForgeError:
            if head := await self.branch_head(repository, name):
                return head
            raise
        return start

    async def branch_head(self, repository: Repository, name: str) -> str | None:
        """Return the commit that a branch points to, or None if the branch does not exist."""
        return (await heads(self.path(repository), name)).get(name)

    async def has_commits(self, repository: Repository, name: str) -> bool:
        """Return whether the branch has commits that the default branch does not have."""
        found = await heads(self.path(repository), name, repository.default_branch)
        if name not in found:
            return False
        head, base = found[name], require_head(found.get(repository.default_branch), repository)
        return bool(await git.run("rev-list", "--max-count=1", head, f"^{base}", "--", git_dir=self.path(repository)))

    async def settle(self, repository: Repository, name: str) -> None:
        """Write the branch, as it is now, to disk."""
        await asyncio.to_thread(durability.sync_refs, self.path(repository), [branch_ref(name)])

    def held(self, repository: Repository, name: str, commit: str) -> AbstractAsyncContextManager[bool]:
        """Hold git's own lock on the branch while the block runs, if it is at this commit."""
        return hold(self.path(repository), branch_ref(name), commit)


def seed_path(seed: str, root: Path) -> Path:
    """Return the folder that a seed names. Raise `ForgeError` unless it is local and of no other project."""
    path = Path(seed.removeprefix("file://"))
    if not path.is_absolute():
        raise ForgeError(f"the local forge cannot import {seed!r}: give the absolute path of a local repository")
    if path.resolve().is_relative_to(root.resolve()):
        raise ForgeError(f"the local forge cannot import {seed!r}: it belongs to another project")
    return path


async def _clone(seed: Path, created: Path) -> None:
    config = created.parent / "gitconfig"
    # The seed may belong to another user than the platform's. Git's upload-pack, which reads it, is made for
    # repositories that are not trusted and does not see this process's own configuration.
    await asyncio.to_thread(config.write_text, "[safe]\n\tdirectory = *\n")
    await git.run(
        *("clone", "--quiet", "--bare", "--no-local", "--template=", "--", str(seed), str(created)),
        global_config=str(config),
        variables=creation.mark(created),
        timeout=_CLONE_SECONDS,
        memory=_CLONE_MEMORY_BYTES,
    )
    await git.run("config", "--remove-section", "remote.origin", git_dir=created)


async def _configure(created: Path, repository: Repository) -> None:
    """Give a new repository its configuration and a commit on its default branch."""
    for key, value in _CONFIG.items():
        await git.run("config", key, value, git_dir=created)
    ref = branch_ref(repository.default_branch)
    await git.run("check-ref-format", ref)
    if not await heads(created, repository.default_branch):
        any_head = await git.run("for-each-ref", "--count=1", "refs/heads/", git_dir=created)
        start = await git.run("rev-parse", "--verify", "HEAD^{commit}", git_dir=created) if any_head else ""
        await git.run("update-ref", ref, start or await _first_commit(created, repository), git_dir=created)
    await git.run("symbolic-ref", "HEAD", ref, git_dir=created)


async def _first_commit(created: Path, repository: Repository) -> str:
    title = repository.name or "Project"
    blob = await git.run("hash-object", "-w", "--stdin", git_dir=created, stdin=f"# {title}\n".encode())
    tree = await git.run("mktree", git_dir=created, stdin=f"100644 blob {blob}\tREADME.md\n".encode())
    return await git.run("commit-tree", "-m", "First commit", tree, git_dir=created)
