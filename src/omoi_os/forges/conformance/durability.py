"""Checks: what was acknowledged survives a restart.

A test bed that can cut the power does so in `Bench.restart`, by what its factory returns.
"""

from uuid import uuid4

from omoi_os.conformance import collector, expect
from omoi_os.forges.bare import git
from omoi_os.forges.base import Repository
from omoi_os.forges.conformance.bench import MAIN, Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.DURABILITY)

_BRANCH = "feature/durable"


@_check
async def a_created_repository_survives(bench: Bench) -> None:
    """A repository that was created exists after a restart, with its default branch."""
    repository = await bench.repository()
    await _expect_kept(bench, repository, MAIN, await bench.head(repository))


@_check
async def a_created_branch_survives(bench: Bench) -> None:
    """A task's branch exists after a restart and is still the task's."""
    repository, task_id = await bench.repository(), uuid4()
    created = await bench.forge.create_branch(repository, _BRANCH, task_id=task_id)
    await _expect_kept(bench, repository, _BRANCH, created)
    await bench.taken(repository, _BRANCH)


@_check
async def a_published_push_survives(bench: Bench) -> None:
    """A push that was acknowledged is there after a restart, with its commit."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, _BRANCH)
    await _expect_kept(bench, repository, _BRANCH, await bench.push(repository, _BRANCH))


@_check
async def a_settled_branch_survives(bench: Bench) -> None:
    """A branch that was settled after an unacknowledged push is there after a restart, with its commit."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, _BRANCH)
    commit = await bench.commit(repository, parent=await bench.head(repository, _BRANCH))
    await bench.move(repository, _BRANCH, commit)
    await bench.forge.settle(repository, _BRANCH)
    await bench.forge.settle(repository, _BRANCH)
    # A forge may settle what it has: the push that was under way, or the branch without it.
    await _expect_kept(bench, repository, _BRANCH, await bench.head(repository, _BRANCH))


async def _expect_kept(bench: Bench, repository: Repository, name: str, commit: str) -> None:
    bench.restart()
    found = await bench.forge.branch_head(repository, name)
    expect(found == commit, f"{name} was at {commit}; after a restart it is at {found}")
    mirror = await bench.mirrors.open(repository)
    kind = await git.run("cat-file", "-t", commit, git_dir=mirror)
    expect(kind == "commit", f"{commit} is a {kind} after a restart")
