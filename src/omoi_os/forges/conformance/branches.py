"""Checks: a branch is created for one task, recognised after a crash, and never taken over."""

import asyncio
from dataclasses import replace
from uuid import uuid4

from omoi_os.conformance import collector, expect
from omoi_os.errors import BranchTaken
from omoi_os.forges.conformance.bench import MAIN, Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.BRANCHES)


@_check
async def a_branch_starts_at_the_default_branch(bench: Bench) -> None:
    """A new branch starts at the current head of the default branch."""
    repository = await bench.repository()
    head = await bench.push(repository, MAIN)
    for name, task_id in (("feature/plain", None), ("feature/task", uuid4())):
        created = await bench.forge.create_branch(repository, name, task_id=task_id)
        found = await bench.forge.branch_head(repository, name)
        expect(created == found == head, f"{name} was created at {created} and is at {found}; {MAIN} is at {head}")


@_check
async def creating_a_branch_again_returns_its_head(bench: Bench) -> None:
    """Without a task, a branch that exists stays where it is and its head is returned."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/again")
    pushed = await bench.push(repository, "feature/again")
    again = await bench.forge.create_branch(repository, "feature/again")
    expect(again == pushed, f"a branch at {pushed} was reported at {again} when it was created again")
    expect(await bench.head(repository, "feature/again") == pushed, "creating a branch again moved it")


@_check
async def a_task_recognises_its_branch_after_a_crash(bench: Bench) -> None:
    """A task that created a branch and crashed gets the same branch again."""
    repository, task_id = await bench.repository(), uuid4()
    created = await bench.forge.create_branch(repository, "feature/crash", task_id=task_id)
    bench.restart()
    again = await bench.forge.create_branch(repository, "feature/crash", task_id=task_id)
    expect(again == created, f"a task's own branch at {created} was reported at {again} after a restart")


@_check
async def a_task_keeps_its_branch_when_the_default_branch_moves(bench: Bench) -> None:
    """A task's own branch is recognised although the default branch has moved since it was created."""
    repository, task_id = await bench.repository(), uuid4()
    created = await bench.forge.create_branch(repository, "feature/early", task_id=task_id)
    await bench.push(repository, MAIN)
    again = await bench.forge.create_branch(repository, "feature/early", task_id=task_id)
    expect(again == created, f"a task's own branch at {created} was reported at {again} after {MAIN} moved")


@_check
async def a_taken_name_is_refused_with_the_list_of_branches(bench: Bench) -> None:
    """Another task gets `BranchTaken` with the names of all branches, so it can choose a free one."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, "feature/taken", task_id=uuid4())
    await bench.forge.create_branch(repository, "fix/other")
    error = await bench.taken(repository, "feature/taken")
    expected = {MAIN, "feature/taken", "fix/other"}
    expect(error.existing == expected, f"the branches are {sorted(expected)}; reported were {sorted(error.existing)}")


@_check
async def a_branch_that_others_pushed_to_is_taken(bench: Bench) -> None:
    """A branch whose head is not where the task created it is not recognised as new."""
    repository, task_id = await bench.repository(), uuid4()
    await bench.forge.create_branch(repository, "feature/pushed", task_id=task_id)
    pushed = await bench.push(repository, "feature/pushed")
    await bench.taken(repository, "feature/pushed", task_id=task_id)
    expect(await bench.head(repository, "feature/pushed") == pushed, "a refused creation moved the branch")


@_check
async def colliding_names_are_taken(bench: Bench) -> None:
    """A name that differs only in case from a branch, or is a folder of one, is refused."""
    pairs = (("feature/login", "Feature/LOGIN"), ("feature/login/form", "feature/login"), ("feature", "feature/login"))
    for existing, wanted in pairs:
        repository = await bench.repository()
        await bench.forge.create_branch(repository, existing)
        error = await bench.taken(repository, wanted)
        expect(existing in error.existing, f"{wanted!r} was refused without naming {existing!r}")


@_check
async def the_default_branch_is_never_a_task_s(bench: Bench) -> None:
    """No task gets the default branch as its own."""
    repository = await bench.repository(default_branch="feature/next")
    await bench.taken(repository, "feature/next")


@_check
async def one_of_many_concurrent_tasks_gets_a_name(bench: Bench) -> None:
    """Of several tasks that create the same branch at once, one succeeds and the others get `BranchTaken`."""
    repository = await bench.repository()
    forges = [bench.factory()[0] for _ in range(6)]
    creating = (forge.create_branch(repository, "feature/race", task_id=uuid4()) for forge in forges)
    results = await asyncio.gather(*creating, return_exceptions=True)
    created = [result for result in results if isinstance(result, str)]
    refused = [result for result in results if isinstance(result, BranchTaken)]
    expect((len(created), len(refused)) == (1, 5), f"six tasks that created one branch got {results}")


@_check
async def a_missing_default_branch_is_named(bench: Bench) -> None:
    """A branch cannot be created without the default branch; the error names it."""
    repository = replace(await bench.repository(), default_branch="moved-away")
    error = await bench.refused(
        bench.forge.create_branch(repository, "feature/start", task_id=uuid4()), "creating a branch without a start"
    )
    expect("moved-away" in str(error), f"the error does not name the default branch: {error}")
