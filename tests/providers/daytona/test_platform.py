"""The acceptance case of the seeds through Daytona: the platform as a user runs it, its SDK, and our own server."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.e2e.conversations import assert_gone_on, hanging
from tests.e2e.platform import CANARY_KEY, Platform, free_port
from tests.providers.daytona.conftest import RUNTIME
from tests.providers.daytona.records import Age
from tests.providers.daytona.server import API_KEY
from tests.providers.daytona.standalone import running

ANSWER = "126410606437752"


def sandboxes_at(url: str) -> list[str]:
    """Return Daytona's own sandboxes."""
    headers = {"Authorization": f"Bearer {API_KEY}"}
    listed = httpx.get(f"{url}/sandbox", headers=headers, trust_env=False).raise_for_status().json()
    return [item["name"] for item in listed["items"]]


@pytest.mark.parametrize(
    ("age", "choice"),
    [(Age.OLD, {"SANDBOX_PROVIDER": "daytona"}), (Age.NEW, {"DAYTONA_SANDBOX_EXECUTION": "true"})],
    ids=["before-the-break", "after-the-break"],
)
def test_a_ticket_becomes_a_verified_branch_in_sandboxes_of_daytona(
    make_platform: Callable[..., Platform], short_tmp: Path, age: Age, choice: dict[str, str]
) -> None:
    port = free_port()
    with running(short_tmp / "daytona", gateway_port=port, age=age) as url:
        platform = make_platform(
            **choice,
            DAYTONA_API_KEY=API_KEY,
            DAYTONA_API_URL=url,
            CALLBACK_URL=f"http://127.0.0.1:{port}",
            OMOI_GATEWAY_PORT=str(port),
            OMOI_DAYTONA_PYTHON=RUNTIME.python,
            OMOI_DAYTONA_SOURCE=RUNTIME.source,
        )
        platform.start()

        demo = subprocess.run(platform.command("demo"), env=platform.environment, capture_output=True, text=True)

        assert demo.returncode == 0, demo.stdout + demo.stderr + platform.log.read_text()[-4000:]
        task = platform.get("/tasks", limit=1)["items"][0]
        assert_the_case(platform, task["id"])
        assert platform.processes() == []
        assert platform.stop() == 0
        assert sandboxes_at(url) == []
    log = platform.log.read_text()
    assert "Unclosed" not in log
    assert "Traceback" not in log
    assert API_KEY not in log


def assert_the_case(platform: Platform, task_id: str) -> None:
    """Check the acceptance case through the API and in the repository."""
    task = platform.task(task_id)
    assert (task["status"], task["attempt"], task["result"]["verified"]) == ("completed", 1, True)
    assert ANSWER in task["result"]["final_output"].replace(",", "")
    branch = task["branch_name"]
    assert branch == "feature/calculate-binomial-coefficient"
    assert platform.git(task["project_id"], "rev-parse", branch) == task["result"]["commit_sha"]
    assert "def " in platform.git(task["project_id"], "show", f"{branch}:binomial.py")

    (work,), (verify,) = platform.sandboxes(task_id), platform.sandboxes(task_id, purpose="verify")
    assert (work["provider"], verify["provider"]) == ("daytona", "daytona")
    platform.event(work["id"], "sandbox.terminated")
    events = platform.events(work["id"])
    counts = Counter(event["event_type"] for event in events)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (counts["agent.started"], counts["agent.completed"], counts["task.verified"]) == (1, 1, 1)
    assert counts["agent.tool_use"] >= 3
    assert counts["agent.file_edited"] >= 2
    runs = [e["event_data"] for e in events if e["event_type"] == "agent.tool_completed"]
    assert any(run["tool"] == "Bash" and ANSWER in run["output"] for run in runs)
    assert CANARY_KEY not in str(events)


def test_a_conversation_continues_at_another_provider(make_platform: Callable[..., Platform], short_tmp: Path) -> None:
    port = free_port()
    with running(short_tmp / "daytona", gateway_port=port) as url:
        platform = make_platform(OMOI_GATEWAY_PORT=str(port))
        platform.start()
        task_id, first = hanging(platform)
        assert platform.stop() == 0

        platform.environment |= {
            "SANDBOX_PROVIDER": "daytona",
            "DAYTONA_API_KEY": API_KEY,
            "DAYTONA_API_URL": url,
            "CALLBACK_URL": f"http://127.0.0.1:{port}",
            "OMOI_DAYTONA_PYTHON": RUNTIME.python,
            "OMOI_DAYTONA_SOURCE": RUNTIME.source,
        }
        platform.start()

        # The call was interrupted and says so: it has its result.
        second = assert_gone_on(platform, task_id, first, calls=["Bash"])
        assert (platform.get(f"/sandboxes/{first}")["provider"], second["provider"]) == ("local", "daytona")
        assert platform.stop() == 0
