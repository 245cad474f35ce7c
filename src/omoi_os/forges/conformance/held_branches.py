"""Checks: a held branch does not move."""

from omoi_os.conformance import collector, expect
from omoi_os.forges.base import Repository
from omoi_os.forges.conformance.bench import Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.HELD_BRANCHES)

_BRANCH = "feature/held"


async def _branch(bench: Bench) -> tuple[Repository, str]:
    repository = await bench.repository()
    return repository, await bench.forge.create_branch(repository, _BRANCH)


@_check
async def a_held_branch_does_not_move(bench: Bench) -> None:
    """A push to a held branch is refused, and the branch stays where it is."""
    repository, head = await _branch(bench)
    commit = await bench.commit(repository, parent=head)
    async with bench.forge.held(repository, _BRANCH, head) as is_held:
        expect(is_held, f"a branch at {head} could not be held there")
        await bench.refused(bench.push(repository, _BRANCH, commit=commit), "pushing to a held branch")
        found = await bench.forge.branch_head(repository, _BRANCH)
        expect(found == head, f"a branch that was held at {head} moved to {found}")


@_check
async def a_released_branch_moves(bench: Bench) -> None:
    """A branch that is no longer held can be pushed to, also if the block that held it failed."""
    repository, head = await _branch(bench)
    for fails in (False, True):
        try:
            async with bench.forge.held(repository, _BRANCH, head):
                if fails:
                    raise InterruptedError
        except InterruptedError:
            pass
        pushed = await bench.push(repository, _BRANCH)
        head = await bench.head(repository, _BRANCH)
        expect(head == pushed, f"after the branch was released, {pushed} was pushed and the head is {head}")


@_check
async def a_branch_at_another_commit_is_not_held(bench: Bench) -> None:
    """The value is False for a branch that has moved on, so that no verdict is stored for an old commit."""
    repository, head = await _branch(bench)
    await bench.push(repository, _BRANCH)
    async with bench.forge.held(repository, _BRANCH, head) as is_held:
        expect(not is_held, f"the branch was held at {head}, where it no longer is")


@_check
async def a_missing_branch_is_not_held(bench: Bench) -> None:
    """The value is False for a branch that does not exist."""
    repository, head = await _branch(bench)
    async with bench.forge.held(repository, "feature/missing", head) as is_held:
        expect(not is_held, "a branch that does not exist was held")


@_check
async def other_branches_move_while_one_is_held(bench: Bench) -> None:
    """Holding a branch holds up no other branch."""
    repository, head = await _branch(bench)
    await bench.forge.create_branch(repository, "feature/other")
    async with bench.forge.held(repository, _BRANCH, head) as is_held:
        expect(is_held, f"a branch at {head} could not be held there")
        pushed = await bench.push(repository, "feature/other")
        found = await bench.forge.branch_head(repository, "feature/other")
    expect(found == pushed, f"while another branch was held, {pushed} was pushed and the head is {found}")
