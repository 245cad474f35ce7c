"""Creates a task's branch in a local repository exactly once, and recognises it after a crash."""

from pathlib import Path
from uuid import UUID

from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.bare import git
from omoi_os.forges.bare.refs import BRANCHES, PLATFORM_REFS, branch_ref, commits_of, require_head
from omoi_os.forges.base import Repository
from omoi_os.forges.branches import collides


def claim_ref(task_id: UUID, name: str) -> str:
    """Return the ref that is created together with a branch and names the task that the branch was created for."""
    return f"{PLATFORM_REFS}/tasks/{task_id}/{name}"


async def create_branch(git_dir: Path, repository: Repository, name: str, *, task_id: UUID) -> str:
    """Create a branch for this task at the head of the default branch and return that commit.

    Return the head if the branch was already created for this task: the caller may have died before it recorded it.
    Raises `BranchTaken`.
    """
    claim = claim_ref(task_id, name)
    refs = await commits_of(git_dir, BRANCHES, claim)
    if (head := _claimed(refs, name, claim)) is not None:
        return head
    start = require_head(refs.get(branch_ref(repository.default_branch)), repository)
    _check_free(name, refs)
    # The branch comes first: after a crash between the two it belongs to no task, and this task takes another name.
    commands = f"create {branch_ref(name)} {start}\nupdate {claim} {start}\n"
    try:
        await git.run("update-ref", "--stdin", git_dir=git_dir, stdin=commands.encode(), memory=None)
    except ForgeError:
        refs = await commits_of(git_dir, BRANCHES, claim)
        if (head := _claimed(refs, name, claim)) is not None:
            return head
        _check_free(name, refs)
        raise
    return start


def _claimed(refs: dict[str, str], name: str, claim: str) -> str | None:
    """Return the head of a branch that was created for the task and that nobody has pushed to."""
    head = refs.get(branch_ref(name))
    return head if head is not None and refs.get(claim) == head else None


def _check_free(name: str, refs: dict[str, str]) -> None:
    existing = frozenset(ref.removeprefix(BRANCHES) for ref in refs if ref.startswith(BRANCHES))
    if collides(name, existing):
        raise BranchTaken(name, existing)
