"""Checks: repositories are created once, with a default branch."""

import asyncio
import re
from dataclasses import replace

from omoi_os.conformance import collector, expect
from omoi_os.forges.conformance.bench import MAIN, Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.REPOSITORIES)

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@_check
async def a_new_repository_has_a_commit_on_its_default_branch(bench: Bench) -> None:
    """A new repository has a default branch, so a task can start from it."""
    head = await bench.head(await bench.repository())
    expect(_COMMIT.fullmatch(head), f"the default branch of a new repository is at {head!r}")


@_check
async def the_default_branch_has_the_requested_name(bench: Bench) -> None:
    """The default branch has the name that the project chose, and no other branch exists."""
    repository = await bench.repository(default_branch="trunk/next")
    await bench.head(repository, "trunk/next")
    other = await bench.forge.branch_head(repository, MAIN)
    expect(other is None, f"a repository with the default branch 'trunk/next' also has {MAIN!r}, at {other}")


@_check
async def creating_a_repository_again_changes_nothing(bench: Bench) -> None:
    """A repository that exists keeps its branches and commits when it is created again."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/kept")
    pushed = await bench.push(repository, "feature/kept"), await bench.push(repository, MAIN)
    await bench.forge.ensure_repository(repository)
    left = [await bench.forge.branch_head(repository, name) for name in ("feature/kept", MAIN)]
    expect(left == list(pushed), f"the branches were at {pushed} and are at {left} after a second creation")


@_check
async def concurrent_creations_create_one_repository(bench: Bench) -> None:
    """Several processes that create the same repository at once all succeed, and their branch stays."""
    repository = bench.address()
    forges = [bench.factory()[0] for _ in range(4)]
    heads = set()

    async def create_and_read(number: int) -> None:
        await forges[number].ensure_repository(repository)
        heads.add(await forges[number].branch_head(repository, MAIN))

    results = await asyncio.gather(*map(create_and_read, range(4)), return_exceptions=True)
    expect(not any(results), f"concurrent creations ended with {results}")
    heads.add(await bench.head(repository))
    expect(len(heads) == 1, f"concurrent creations left the default branch at {heads}")


@_check
async def repositories_are_separate(bench: Bench) -> None:
    """A branch of one project's repository is not in another one, even if owner and name are the same."""
    first = await bench.repository()
    second = replace(bench.address(), owner=first.owner, name=first.name)
    await bench.forge.ensure_repository(second)
    await bench.forge.create_branch(first, "feature/first")
    found = await bench.forge.branch_head(second, "feature/first")
    expect(found is None, f"a branch that was created in one repository is in another one, at {found}")


@_check
async def a_missing_repository_is_an_error(bench: Bench) -> None:
    """Asking for a branch of a repository that was never created is an error, not an empty answer."""
    await bench.refused(bench.forge.branch_head(bench.address(), MAIN), "asking for a branch of no repository")


@_check
async def a_hostile_default_branch_leaves_nothing(bench: Bench) -> None:
    """A repository whose default branch is not a branch name is refused, and nothing is created."""
    for name in ("a..b", "a b", "x.lock"):
        repository = bench.address(default_branch=name)
        await bench.refused(bench.forge.ensure_repository(repository), f"creating default branch {name!r}")
        expect(bench.mirrors.find(repository) is None, f"refusing default branch {name!r} left a repository")
