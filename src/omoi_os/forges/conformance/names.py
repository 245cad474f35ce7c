"""Checks: names that git or a shell could misunderstand change nothing."""

from uuid import uuid4

from omoi_os.conformance import collector, expect
from omoi_os.errors import ForgeError
from omoi_os.forges.conformance.bench import MAIN, Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.NAMES)

_NOT_BRANCHES = (
    "",
    "a..b",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "x.lock",
    "a\nb",
    "a\ndelete refs/heads/main",
    "a\x00b",
    "/a",
    "a//b",
    "../a",
    "@{-1}",
)
_OPTIONS = ("--delete", "-d", "--stdin")


@_check
async def names_that_are_not_branch_names_are_refused(bench: Bench) -> None:
    """A name that git does not allow for a branch is refused, with and without a task."""
    repository = await bench.repository()
    before = await bench.head(repository)
    for name in _NOT_BRANCHES:
        for task_id in (None, uuid4()):
            await bench.refused(
                bench.forge.create_branch(repository, name, task_id=task_id), f"creating branch {name!r}"
            )
    expect(await bench.head(repository) == before, "a refused name moved the default branch")
    error = await bench.taken(repository, MAIN)
    expect(error.existing == {MAIN}, f"refused names left the branches {sorted(error.existing)}")


@_check
async def a_name_like_an_option_is_only_a_name(bench: Bench) -> None:
    """A name that looks like an option of git is refused or is the name of a branch, and does nothing else."""
    repository = await bench.repository()
    before = await bench.head(repository)
    for name in _OPTIONS:
        try:
            created = await bench.forge.create_branch(repository, name)
        except ForgeError:
            continue
        found = await bench.forge.branch_head(repository, name)
        expect(created == found == before, f"branch {name!r} was created at {created} and is at {found}, not {before}")
    expect(await bench.head(repository) == before, "a name like an option moved the default branch")


@_check
async def a_name_like_a_pattern_matches_nothing(bench: Bench) -> None:
    """A pattern or a prefix of branch names is not a branch."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/one")
    for name in ("*", "feature/*", "feature", "ma?n", "m[a]in", "refs/heads/main", "HEAD"):
        found = await bench.forge.branch_head(repository, name)
        expect(found is None, f"{name!r} is not a branch but has the head {found}")
