"""Checks: heads and commits of branches are reported as they are."""

from uuid import uuid4

from omoi_os.conformance import collector, expect
from omoi_os.forges.conformance.bench import MAIN, Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.HEADS)


@_check
async def a_missing_branch_has_no_head(bench: Bench) -> None:
    """The head of a branch that does not exist is None."""
    found = await bench.forge.branch_head(await bench.repository(), "feature/missing")
    expect(found is None, f"a branch that does not exist has the head {found}")


@_check
async def a_pushed_commit_is_the_head(bench: Bench) -> None:
    """An acknowledged push is the branch's head, also for other processes."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/pushed")
    pushed = await bench.push(repository, "feature/pushed")
    for forge in (bench.forge, bench.factory()[0]):
        found = await forge.branch_head(repository, "feature/pushed")
        expect(found == pushed, f"{pushed} was pushed and the head is {found}")


@_check
async def a_new_branch_has_no_commits(bench: Bench) -> None:
    """A branch that was only created has no commits that the default branch does not have."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/new", task_id=uuid4())
    has_commits = await bench.forge.has_commits(repository, "feature/new")
    expect(not has_commits, "a branch that nobody pushed to has commits")


@_check
async def a_pushed_branch_has_commits(bench: Bench) -> None:
    """A branch that was pushed to has commits, also after the default branch has moved."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/work")
    await bench.push(repository, "feature/work")
    expect(await bench.forge.has_commits(repository, "feature/work"), "a branch that was pushed to has no commits")
    await bench.push(repository, MAIN)
    expect(await bench.forge.has_commits(repository, "feature/work"), f"it has none any more after {MAIN} moved")


@_check
async def commits_of_the_default_branch_do_not_count(bench: Bench) -> None:
    """A branch whose commits are all in the default branch has no commits, nor has a missing branch."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/merged")
    pushed = await bench.push(repository, "feature/merged")
    await bench.push(repository, MAIN, commit=pushed)
    await bench.push(repository, MAIN)
    for name in ("feature/merged", "feature/missing"):
        has_commits = await bench.forge.has_commits(repository, name)
        expect(not has_commits, f"{name} has commits although {MAIN} contains all of them")
