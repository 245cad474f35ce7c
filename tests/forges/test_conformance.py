"""The conformance suite of forges: the local forge passes every check, and for each check a flawed forge fails it."""

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from omoi_os.config import Settings
from omoi_os.conformance import collector
from omoi_os.forges.bare import git
from omoi_os.forges.base import Forge
from omoi_os.forges.conformance import CHECKS, Bench, Check, Guarantee, Outcome, Result, judge, run
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.mirrors import Mirrors
from omoi_os.forges.registry import FORGES, make_forge, make_mirrors
from omoi_os.system import durable
from tests.faults.power import Disk, a_disk, needs_power
from tests.forges import broken

DURABILITY = [check for check in CHECKS if check.guarantee is Guarantee.DURABILITY]


def bench_of(name: str, folder: Path) -> Bench:
    settings = Settings(data_dir=folder)
    return Bench(lambda: (make_forge(name, settings), make_mirrors(name, settings)))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_of("local", tmp_path)


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_the_local_forge_conforms(check: Check, bench: Bench) -> None:
    result = await judge(bench, check)

    assert result.outcome is Outcome.PASSED, result.sentence


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_a_forge_on_another_machine_conforms(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder and a line in the registry are enough to add a forge, and its mirrors are not the repositories."""
    monkeypatch.setitem(FORGES, "remote", "tests.forges.remote")

    result = await judge(bench_of("remote", tmp_path), check)

    assert result.outcome is Outcome.PASSED, result.sentence


@pytest.mark.parametrize("name", FORGES)
def test_a_forge_has_the_name_that_it_is_registered_under(name: str, tmp_path: Path) -> None:
    assert make_forge(name, Settings(data_dir=tmp_path)).name == name


@dataclass
class Flaw:
    """What is wrong with a forge, and which checks must notice."""

    forge: type[LocalForge] = LocalForge
    mirrors: type[Mirrors] = Mirrors
    forgets_all: bool = False

    def bench(self, root: Path) -> Bench:
        def make() -> tuple[Forge, Mirrors]:
            if self.forgets_all:
                shutil.rmtree(root, ignore_errors=True)
            return self.forge(root), self.mirrors(root)

        return Bench(make)


FLAWS: Mapping[str, Flaw] = {
    "a_new_repository_has_a_commit_on_its_default_branch": Flaw(broken.WithoutDefaultBranch),
    "the_default_branch_has_the_requested_name": Flaw(broken.AlwaysMain),
    "creating_a_repository_again_changes_nothing": Flaw(broken.ReplacesRepositories),
    "concurrent_creations_create_one_repository": Flaw(broken.CreatesOnlyOnce),
    "repositories_are_separate": Flaw(broken.OneRepositoryForAll),
    "a_missing_repository_is_an_error": Flaw(broken.HidesErrors),
    "a_hostile_default_branch_leaves_nothing": Flaw(broken.AlwaysMain),
    "a_branch_starts_at_the_default_branch": Flaw(broken.StartsAtTheFirstCommit),
    "creating_a_branch_again_returns_its_head": Flaw(broken.StartsAtTheFirstCommit),
    "a_task_recognises_its_branch_after_a_crash": Flaw(broken.ForgetsTasks),
    "a_task_keeps_its_branch_when_the_default_branch_moves": Flaw(broken.ForgetsTasks),
    "a_taken_name_is_refused_with_the_list_of_branches": Flaw(broken.VagueErrors),
    "a_branch_that_others_pushed_to_is_taken": Flaw(broken.AdoptsBranches),
    "colliding_names_are_taken": Flaw(broken.AdoptsBranches),
    "the_default_branch_is_never_a_task_s": Flaw(broken.AdoptsBranches),
    "one_of_many_concurrent_tasks_gets_a_name": Flaw(broken.AdoptsBranches),
    "a_missing_default_branch_is_named": Flaw(broken.VagueErrors),
    "names_that_are_not_branch_names_are_refused": Flaw(broken.CleansNames),
    "a_name_like_an_option_is_only_a_name": Flaw(broken.TakesOptions),
    "a_name_like_a_pattern_matches_nothing": Flaw(broken.MatchesPatterns),
    "a_missing_branch_has_no_head": Flaw(broken.FallsBackToMain),
    "a_pushed_commit_is_the_head": Flaw(broken.RemembersHeads),
    "a_new_branch_has_no_commits": Flaw(broken.AlwaysHasCommits),
    "a_pushed_branch_has_commits": Flaw(broken.NeverHasCommits),
    "commits_of_the_default_branch_do_not_count": Flaw(broken.AlwaysHasCommits),
    "a_held_branch_does_not_move": Flaw(broken.NeverHolds),
    "a_released_branch_moves": Flaw(broken.NeverReleases),
    "a_branch_at_another_commit_is_not_held": Flaw(broken.NeverHolds),
    "a_missing_branch_is_not_held": Flaw(broken.NeverHolds),
    "other_branches_move_while_one_is_held": Flaw(broken.NeverReleases),
    "an_opened_mirror_has_every_branch": Flaw(mirrors=broken.StaleMirrors),
    "a_mirror_that_does_not_exist_is_not_found": Flaw(mirrors=broken.EndlessMirrors),
    "refs_that_are_no_branches_are_hidden": Flaw(mirrors=broken.ShownRefs),
    "a_lock_of_a_killed_process_does_not_stop_a_push": Flaw(mirrors=broken.KeptLocks),
    "a_whole_mirror_has_no_damage": Flaw(mirrors=broken.AlwaysDamage),
    "damage_is_named": Flaw(mirrors=broken.NoDamage),
    "a_missing_commit_is_named": Flaw(mirrors=broken.NoDamage),
    "a_mirror_is_a_bare_repository": Flaw(broken.AlwaysMain),
    "a_created_repository_survives": Flaw(forgets_all=True),
    "a_created_branch_survives": Flaw(forgets_all=True),
    "a_published_push_survives": Flaw(mirrors=broken.StaleMirrors),
    "a_settled_branch_survives": Flaw(forgets_all=True),
}


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_each_check_notices_a_flaw(check: Check, tmp_path: Path) -> None:
    result = await judge(FLAWS[check.name].bench(tmp_path / "repos"), check)

    assert result.outcome is Outcome.FAILED
    assert not result.sentence.startswith("unexpected"), result.sentence


def test_each_check_has_a_name_and_a_promise_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS) >= 40
    assert all(check.promise.endswith(".") and "\n" not in check.promise for check in CHECKS)


@pytest.fixture
def disk() -> Iterator[Disk]:
    with a_disk() as made:
        yield made


@needs_power
@pytest.mark.parametrize("synced", [True, False], ids=["synced", "unsynced"])
@pytest.mark.parametrize("check", DURABILITY, ids=str)
async def test_what_was_acknowledged_survives_a_power_cut(
    check: Check, synced: bool, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without syncing, each check fails: the power cut is real."""
    if not synced:
        monkeypatch.setattr(git, "DURABLE_CONFIG", {"core.fsync": "none"})
        monkeypatch.setattr(durable, "sync", lambda *_: None)
        monkeypatch.setattr(durable.os, "fsync", lambda _: None)  # type: ignore[attr-defined]
    root, starts = disk.path / "repos", 0

    def make() -> tuple[Forge, Mirrors]:
        nonlocal starts
        starts += 1
        if starts > 1:
            disk.cut()
            disk.restore()
        return LocalForge(root), Mirrors(root)

    result = await judge(Bench(make), check)

    assert (result.outcome is Outcome.PASSED) is synced, result.sentence


def two_checks() -> list[Check]:
    found: list[Check] = []

    @collector(found)(Guarantee.HELD_BRANCHES)
    async def broken_check(bench: Bench) -> None:
        """It is broken."""
        raise ValueError("out of order")

    @collector(found)(Guarantee.HEADS)
    async def endless_check(bench: Bench) -> None:
        """It never ends."""
        await asyncio.Event().wait()

    return found


async def test_a_run_reports_each_result_and_continues_after_a_failure(bench: Bench) -> None:
    reported: list[Result] = []
    bench.patience = 0.05

    results = await run(bench, two_checks(), on_result=reported.append)

    assert results == reported
    assert [result.sentence for result in results] == [
        "unexpected ValueError: out of order",
        "it did not end within 0.05 s",
    ]


@pytest.mark.parametrize("key", ["broken_check", Guarantee.HELD_BRANCHES])
async def test_a_known_gap_is_reported_with_its_reason(bench: Bench, key: str) -> None:
    bench.gaps = {key: "the host has no locks"}

    result = await judge(bench, two_checks()[0])

    assert (result.outcome, result.sentence) == (Outcome.GAP, "the host has no locks")
