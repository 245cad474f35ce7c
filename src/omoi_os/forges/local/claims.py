"""Creates a task's branch in a local repository exactly once, and recognises it after a crash."""

from pathlib import Path
from uuid import UUID

from omoi_os.errors import BranchTaken, ForgeError
from omoi_os.forges.bare import git
from omoi_os.forges.base import Repository
from omoi_os.forges.branches import collides

#: Refs below this are the platform's own.
PLATFORM_REFS = "refs/omoi"

#: A ref below this, created together with a branch, names the task that the branch was created for. Sandboxes do not
#: see these refs (`transfer.hideRefs`) and may not push to them.
CLAIMS = f"{PLATFORM_REFS}/tasks"

_HEADS = "refs/heads/"


async def create_branch(git_dir: Path, repository: Repository, name: str, *, task_id: UUID) -> str:
    """Create a branch for this task at the head of the default branch and return that commit.

    Return the head if the branch was created for this task already: the caller may have died before it recorded it.
    Raises `BranchTaken`.
    """
    claim = f"{CLAIMS}/{task_id}/{name}"
    refs = await _refs(git_dir, claim)
    if (head := _claimed(refs, name, claim)) is not None:
        return head
    start = required(refs.get(_HEADS + repository.default_branch), repository)
    _check_free(name, refs)
    # The branch comes first: after a crash between the two it belongs to nobody, and the task takes another name.
    commands = f"create {_HEADS}{name} {start}\nupdate {claim} {start}\n"
    try:
        await git.run("update-ref", "--stdin", git_dir=git_dir, stdin=commands.encode())
    except ForgeError:
        refs = await _refs(git_dir, claim)
        if (head := _claimed(refs, name, claim)) is not None:
            return head
        _check_free(name, refs)
        raise
    return start


def required(head: str | None, repository: Repository) -> str:
    """Return the head of the default branch, which a repository must have."""
    if head is None:
        raise ForgeError(
            f"the repository of project {repository.project_id} has no branch {repository.default_branch!r}: "
            "push one or change the project's default_branch"
        )
    return head


def _claimed(refs: dict[str, str], name: str, claim: str) -> str | None:
    """Return the head of a branch that was created for the task and that nobody has pushed to."""
    head = refs.get(_HEADS + name)
    return head if head is not None and refs.get(claim) == head else None


def _check_free(name: str, refs: dict[str, str]) -> None:
    existing = frozenset(ref.removeprefix(_HEADS) for ref in refs if ref.startswith(_HEADS))
    if collides(name, existing):
        raise BranchTaken(name, existing)


async def _refs(git_dir: Path, claim: str) -> dict[str, str]:
    """Return the commits of all branches and of this claim."""
    listed = await git.run("for-each-ref", "--format=%(objectname) %(refname)", "--", _HEADS, claim, git_dir=git_dir)
    return {ref: commit for commit, _, ref in (line.partition(" ") for line in listed.splitlines())}
