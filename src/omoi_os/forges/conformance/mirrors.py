"""Checks: a repository is served from its mirror on this machine, and damage of the mirror is named."""

import os
import time
from uuid import uuid4

from omoi_os.conformance import Failed, collector, expect
from omoi_os.errors import NotFound
from omoi_os.forges.bare import git, refs
from omoi_os.forges.conformance.bench import MAIN, Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)(Guarantee.MIRRORS)

_BRANCH = "feature/served"
_HOUR = 3600


@_check
async def an_opened_mirror_has_every_branch(bench: Bench) -> None:
    """An opened mirror has the branches of the forge, at the same commits."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, _BRANCH, task_id=uuid4())
    await bench.push(repository, _BRANCH)
    mirror = await bench.mirrors.open(repository)
    served = await refs.heads(mirror, MAIN, _BRANCH)
    expected = {name: await bench.head(repository, name) for name in (MAIN, _BRANCH)}
    expect(served == expected, f"the branches are at {expected}; the mirror has {served}")


@_check
async def a_mirror_that_does_not_exist_is_not_found(bench: Bench) -> None:
    """Opening the mirror of a repository that was never created raises `NotFound`, and finding it returns None."""
    repository = bench.address()
    expect(bench.mirrors.find(repository) is None, "the mirror of a repository that was never created was found")
    try:
        opened = await bench.mirrors.open(repository)
    except NotFound:
        return
    raise Failed(f"the mirror of a repository that was never created was opened: {opened}")


@_check
async def refs_that_are_no_branches_are_hidden(bench: Bench) -> None:
    """The forge keeps its own refs below the prefix that the gateway hides from sandboxes."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, _BRANCH, task_id=uuid4())
    mirror = await bench.mirrors.open(repository)
    served = ("refs/heads/", "refs/tags/", f"{bench.mirrors.hidden_refs}/")
    shown = [ref for ref in await refs.commits_of(mirror, "refs/") if not ref.startswith(served)]
    expect(not shown, f"sandboxes would see {shown}")


@_check
async def a_lock_of_a_killed_process_does_not_stop_a_push(bench: Bench) -> None:
    """A push succeeds although a killed process left its lock on the branch an hour ago."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, _BRANCH)
    lock = await bench.mirrors.open(repository) / f"{refs.branch_ref(_BRANCH)}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (time.time() - _HOUR, time.time() - _HOUR))
    pushed = await bench.push(repository, _BRANCH)
    expect(await bench.head(repository, _BRANCH) == pushed, "a push over a left lock did not move the branch")


@_check
async def a_whole_mirror_has_no_damage(bench: Bench) -> None:
    """No damage is reported for a repository that is whole, or that was not created yet."""
    repository = await bench.repository()
    await bench.push(repository, MAIN)
    for each in (repository, bench.address()):
        found = await bench.mirrors.damage(each)
        expect(found is None, f"a repository that is whole was reported as damaged: {found}")


@_check
async def damage_is_named(bench: Bench) -> None:
    """An emptied file of the repository is named."""
    for name in ("HEAD", refs.branch_ref(_BRANCH)):
        repository = await bench.repository()
        await bench.forge.create_branch(repository, _BRANCH)
        mirror = await bench.mirrors.open(repository)
        (mirror / name).parent.mkdir(parents=True, exist_ok=True)
        (mirror / name).write_bytes(b"")
        found = await bench.mirrors.damage(repository)
        expect(found is not None and name in found, f"{name} is empty; the reported damage is {found}")


@_check
async def a_missing_commit_is_named(bench: Bench) -> None:
    """A branch whose commit is missing is named."""
    repository = await bench.repository()
    await bench.forge.create_branch(repository, _BRANCH)
    commit = await bench.commit(repository, parent=await bench.head(repository))
    mirror = await bench.move(repository, _BRANCH, commit)
    (mirror / "objects" / commit[:2] / commit[2:]).unlink()
    found = await bench.mirrors.damage(repository)
    expect(found is not None and commit in found, f"commit {commit} is missing; the reported damage is {found}")


@_check
async def a_mirror_is_a_bare_repository(bench: Bench) -> None:
    """Git accepts the mirror as a bare repository with the default branch as its HEAD."""
    repository = await bench.repository(default_branch="trunk")
    mirror = await bench.mirrors.open(repository)
    is_bare = await git.run("rev-parse", "--is-bare-repository", git_dir=mirror)
    head = await git.run("symbolic-ref", "HEAD", git_dir=mirror)
    expect((is_bare, head) == ("true", "refs/heads/trunk"), f"bare: {is_bare}, HEAD: {head}")
