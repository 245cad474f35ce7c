"""What each mode does with a task, and when an implementation is over."""

from pathlib import Path
from typing import Any

from tests.worker.conftest import BRANCH, Worker, git
from tests.worker.platform import BASH, EDIT, WRITE, Platform

CHECK = "python3 binomial.py | grep -q 126410606437752"


def data_of(platform: Platform, event_type: str) -> list[dict[str, Any]]:
    return [event["event_data"] for event in platform.of_type(event_type)]


async def test_an_implementation_continues_in_the_same_session_until_its_checks_pass(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    note: dict[str, Any] = {"tool": "Bash", "input": {"command": "echo 'NOTE-1: zero is wrong' > ~/notes.md"}}
    platform.steps = [WRITE, note, {"text": "I think it is done.", "once": EDIT}, {"text": "Now it is."}]
    await worker.start(acceptance=("echo CHECKED", CHECK))
    code, _ = await worker.end()

    assert code == 0
    assert [data["passed"] for data in data_of(platform, "iteration.validation")] == [False, True]
    failed = data_of(platform, "iteration.validation")[0]["checks"]
    assert [(check["command"], check["exit_code"]) for check in failed] == [("echo CHECKED", 0), (CHECK, 1)]
    assert [data["iteration"] for data in data_of(platform, "iteration.started")] == [1, 2]
    assert data_of(platform, "iteration.completed")[0]["notes"] == "NOTE-1: zero is wrong"
    (completed,) = data_of(platform, "agent.completed")
    assert (completed["stop_reason"], completed["iterations"]) == ("verified", 2)
    asked = platform.asked[-2]
    assert "iteration 1 of 10" in asked
    assert CHECK in asked
    assert "Your notes so far:\\nNOTE-1" in asked
    assert "notes.md" not in git(repository, "ls-tree", "--name-only", BRANCH)
    assert "math.comb" in git(repository, "show", f"{BRANCH}:binomial.py")


async def test_iterations_that_change_nothing_end_and_the_work_so_far_is_pushed(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    platform.steps = [WRITE, {"text": "It cannot be done."}]
    await worker.start(acceptance=("false",))
    code, _ = await worker.end()

    assert code == 0
    # One that changed something, and three that did not.
    assert len(data_of(platform, "iteration.started")) == 4
    (completed,) = data_of(platform, "agent.completed")
    assert completed["stop_reason"] == "no_progress"
    assert git(repository, "rev-parse", BRANCH) == completed["commit_sha"]
    assert completed["files_changed"] == ["binomial.py"]


async def test_without_acceptance_commands_there_is_one_round(worker: Worker, platform: Platform) -> None:
    platform.steps = [WRITE, {"text": "done"}]
    await worker.start(acceptance=())
    await worker.end()

    assert len(data_of(platform, "iteration.completed")) == 1
    assert data_of(platform, "iteration.validation") == []
    assert data_of(platform, "agent.completed")[0]["stop_reason"] == "end_turn"


async def test_after_its_time_an_agent_is_stopped_and_what_there_is_is_handed_in(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    hang: dict[str, Any] = {"tool": "Bash", "input": {"command": "tail -f /dev/null", "timeout": 600000}}
    platform.steps = [WRITE, hang, {"text": "never said"}]
    await worker.start(acceptance=("true",), max_seconds=4)
    code, _ = await worker.end()

    assert code == 0
    (completed,) = data_of(platform, "agent.completed")
    assert completed["stop_reason"] == "time"
    assert git(repository, "rev-parse", BRANCH) == completed["commit_sha"]
    assert data_of(platform, "agent.interrupted")[0]["reason"] == "the worker"


async def test_a_model_that_stays_away_is_asked_three_times(worker: Worker, platform: Platform) -> None:
    platform.steps = [{"status": 503, "message": "away"}]
    await worker.start()
    code, _ = await worker.end()

    assert code == 1
    assert len(data_of(platform, "iteration.failed")) == 3
    (failed,) = data_of(platform, "agent.failed")
    assert (failed["stop_reason"], failed["error_type"], failed["api_error_status"]) == ("errors", "model", 503)


async def test_a_validation_is_told_what_the_checks_say_and_pushes_nothing(
    worker: Worker, platform: Platform, repository: Path
) -> None:
    platform.steps = [WRITE, {"text": "The check fails, because the file is missing."}]
    await worker.start(mode="validation", acceptance=("cat binomial.py",))
    code, _ = await worker.end()

    assert code == 0
    (validation,) = data_of(platform, "iteration.validation")
    assert (validation["passed"], validation["checks"][0]["exit_code"]) == (False, 1)
    assert "No such file" in platform.asked[0]
    (completed,) = data_of(platform, "agent.completed")
    assert completed["final_output"] == "The check fails, because the file is missing."
    assert git(repository, "rev-parse", BRANCH) == git(repository, "rev-parse", "main") == completed["commit_sha"]


async def test_an_exploration_reports_and_pushes_nothing(worker: Worker, platform: Platform, repository: Path) -> None:
    platform.steps = [WRITE, BASH, {"text": "It prints {output}."}]
    await worker.start(mode="exploration", acceptance=())
    code, _ = await worker.end()

    assert code == 0
    assert data_of(platform, "agent.completed")[0]["final_output"] == "It prints 0."
    assert data_of(platform, "iteration.started") == []
    assert git(repository, "rev-parse", BRANCH) == git(repository, "rev-parse", "main")
