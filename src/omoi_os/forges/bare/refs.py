"""Refs of a bare repository: branches, and the platform's own."""

import re
from collections.abc import Mapping
from pathlib import Path

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import git
from omoi_os.forges.base import Repository

BRANCHES = "refs/heads/"

#: Refs below this prefix are the platform's own: sandboxes neither see them nor push to them.
PLATFORM_REFS = "refs/omoi"

_SEPARATOR = re.compile(r"[\x00-\x20\x7f]")


def branch_ref(name: str) -> str:
    """Return the full name of a branch, e.g. `refs/heads/main`.

    Raise `ForgeError` for a space or a control character, which would separate arguments where git reads commands
    from its input. Git itself refuses all other names that no branch can have.
    """
    if _SEPARATOR.search(name):
        raise ForgeError(f"{name!r} is not the name of a branch: it contains a space or a control character")
    return f"{BRANCHES}{name}"


async def commits_of(git_dir: Path, *patterns: str) -> dict[str, str]:
    """Return the commits of the refs that have one of these names or are below one of them."""
    form = "--format=%(objectname) %(refname)"
    listed = await git.run("for-each-ref", form, "--", *patterns, git_dir=git_dir, memory=None)
    return {ref: commit for commit, _, ref in (line.partition(" ") for line in listed.splitlines())}


async def heads(git_dir: Path, *names: str) -> dict[str, str]:
    """Return the heads of those of these branches that exist."""
    found = await commits_of(git_dir, *map(branch_ref, names))
    return {name: found[branch_ref(name)] for name in names if branch_ref(name) in found}


def require_head(head: str | None, repository: Repository) -> str:
    """Return the head of the default branch. Raise `ForgeError` if the repository does not have that branch."""
    if head is None:
        raise ForgeError(
            f"the repository of project {repository.project_id} has no branch {repository.default_branch!r}: "
            "push one or change the project's default_branch"
        )
    return head


async def at_commits(git_dir: Path, wanted: Mapping[str, str]) -> set[str]:
    """Return those of these refs that are at their commit; a commit of zeros means that the ref does not exist."""
    found = await commits_of(git_dir, *wanted)
    return {ref for ref, commit in wanted.items() if found.get(ref, "0" * len(commit)) == commit}


async def has_only_first_commit(git_dir: Path) -> bool:
    """Return whether nobody has pushed yet: there is one branch, at the commit that the platform created."""
    found = await commits_of(git_dir, BRANCHES, "refs/tags/")
    if len(found) != 1:
        return False
    log = await git.run("log", "-1", "--format=%P%n%ce", *found.values(), "--", git_dir=git_dir)
    return log == git.EMAIL
