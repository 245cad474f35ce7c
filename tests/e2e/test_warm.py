"""The warm pool: tasks are handed to sandboxes that wait, each used once, and nothing of it is left."""

from collections.abc import Callable

from tests.e2e.platform import Platform, wait_for
from tests.faults.test_storm import assert_nothing_left


def warm_folders(platform: Platform) -> list[str]:
    return [
        path.name for path in (platform.data_dir / "sandboxes").glob("omoios-warm-*") if (path / "state.json").exists()
    ]


def test_tasks_run_in_sandboxes_that_waited_for_them(make_platform: Callable[..., Platform]) -> None:
    platform = make_platform(OMOI_WARM_SANDBOXES="1")
    platform.start()
    used = []
    for number in (1, 2):
        wait_for("a warm sandbox", lambda: warm_folders(platform))
        task = platform.ticket(f"Warm binomial {number}", acceptance=["python3 binomial.py"])
        done = platform.finished(task["id"])
        assert (done["status"], done["attempt"]) == ("completed", 1), platform.log.read_text()[-3000:]
        (sandbox,) = platform.sandboxes(task["id"])
        used.append(sandbox["provider_ref"])
        types = [event["event_type"] for event in platform.events(sandbox["id"])]
        assert (types.count("agent.started"), types.count("agent.completed")) == (1, 1)

    assert all(ref.startswith("omoios-warm-") for ref in used)
    assert len(set(used)) == 2
    assert platform.stop() == 0
    assert_nothing_left(platform, used)


def test_a_killed_orchestrators_waiting_sandboxes_are_removed_by_the_next(
    make_platform: Callable[..., Platform],
) -> None:
    platform = make_platform(OMOI_WARM_SANDBOXES="1")
    platform.start()
    (first,) = wait_for("a warm sandbox", lambda: warm_folders(platform))

    platform.kill_part("orchestrator")

    def replaced() -> bool:
        names = warm_folders(platform)
        return bool(names) and first not in names

    wait_for("another warm sandbox in its place", replaced)
    done = platform.finished(platform.ticket("Warm binomial after a kill")["id"])
    assert done["status"] == "completed"
