"""The whole path with real parts: a ticket becomes a verified branch, or says why not."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.platform import Platform, wait_for


def test_the_demo_ends_in_a_verified_branch_twice_in_a_row(platform: Platform) -> None:
    outputs = []
    for _ in range(2):
        done = subprocess.run(platform.command("demo"), env=platform.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        outputs.append(done.stdout)

    for number, output in enumerate(outputs, start=1):
        suffix = "" if number == 1 else f"-{number}"
        assert "C(50,25) = 126,410,606,437,752" in output
        assert re.search(rf"Branch: feature/calculate-binomial-coefficient{suffix} +commit: \w+ +verified: yes", output)
        assert "The agent used the scripted model." in output
    task = platform.get("/tasks", limit=1)["items"][0]
    assert (task["status"], task["result"]["verified"], task["attempt"]) == ("completed", True, 1)
    assert "126410606437752" in task["result"]["final_output"].replace(",", "")
    assert task["cost_usd"] > 0
    assert (task["outcome"], task["simulated_cost_usd"], task["cost_simulated"]) == ("verified", task["cost_usd"], True)
    assert task["tokens"] > 0
    assert platform.git(task["project_id"], "rev-parse", task["branch_name"]) == task["result"]["commit_sha"]
    assert "def " in platform.git(task["project_id"], "show", f"{task['branch_name']}:binomial.py")


def test_a_sandbox_tells_its_story_in_order(platform: Platform) -> None:
    task = platform.ticket("Tell binomial", acceptance=["python3 binomial.py"])
    done = platform.finished(task["id"])

    (sandbox,) = platform.sandboxes(task["id"])
    platform.event(sandbox["id"], "sandbox.terminated")
    events = platform.events(sandbox["id"])
    types = [event["event_type"] for event in events]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (types.count("agent.started"), types.count("agent.completed")) == (1, 1)
    assert types.count("agent.tool_use") == types.count("agent.tool_completed") >= 3
    edits = [event["event_data"] for event in events if event["event_type"] == "agent.file_edited"]
    assert len(edits) >= 2
    assert all(edit["full_diff"].startswith("--- ") and "\n@@ " in edit["full_diff"] for edit in edits)
    assert types.index("sandbox.created") < types.index("agent.started") < types.index("agent.completed")
    assert types.index("agent.completed") < types.index("task.verified")
    assert done["status"] == "completed"
    transcript = platform.request("GET", f"/sandboxes/{sandbox['id']}/transcript")
    assert "binomial.py" in transcript.text


def test_a_ticket_that_no_script_covers_fails_at_once_and_says_what_to_set(platform: Platform) -> None:
    task = platform.ticket("Paint the bikeshed", description="In a nice green.")

    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"], done["result"]) == ("failed", 1, None)
    assert "ANTHROPIC_API_KEY" in done["error"]


def test_a_failed_check_gives_the_next_attempt_its_output_on_the_same_branch(platform: Platform) -> None:
    platform.script(
        "second-try",
        """
        match: needs two tries
        steps:
          - tool: Bash
            input: {command: 'if [ -e first ]; then echo good > answer; else touch first; echo bad > answer; fi'}
          - text: done
        """,
    )
    task = platform.ticket(
        "This needs two tries", acceptance=["echo the answer is: $(cat answer); grep -q good answer"]
    )

    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("completed", 2)
    first, second = platform.sandboxes(task["id"])
    verdicts = [platform.event(sandbox["id"], "task.verified")["event_data"] for sandbox in (first, second)]
    assert [verdict["verified"] for verdict in verdicts] == [False, True]
    assert verdicts[0]["checks"][0]["exit_code"] == 1
    transcript = platform.request("GET", f"/sandboxes/{second['id']}/transcript").text
    assert "the answer is: bad" in transcript
    assert done["branch_name"] == task["branch_name"]
    assert len(platform.sandboxes(task["id"], purpose="verify")) == 2


def test_an_agent_that_changes_nothing_is_not_believed(platform: Platform) -> None:
    platform.script("liar", "match: do nothing\nsteps:\n  - text: I did it all, every test passes.\n")
    task = platform.ticket("Please do nothing")

    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("failed", 3)
    assert "no commit was pushed" in done["error"]
    assert done["result"]["commit_sha"] is None
    assert len(platform.sandboxes(task["id"])) == 3


def test_a_spent_budget_ends_the_task_with_a_clear_sentence(platform: Platform) -> None:
    task = platform.ticket("Expensive binomial", budget_usd=0.000001)

    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("failed", 1)
    assert "budget" in done["error"]


def test_a_ticket_waits_for_the_one_it_depends_on(platform: Platform) -> None:
    project = platform.project()
    first = platform.ticket("First binomial", project_id=project)
    second = platform.ticket("Second binomial", project_id=project, depends_on=[first["ticket_id"]])
    assert second["status"] == "blocked"

    done = platform.finished(second["id"])

    assert done["status"] == "completed"
    assert done["started_at"] > platform.task(first["id"])["completed_at"]


def test_cancel_really_stops_the_sandbox(platform: Platform) -> None:
    platform.script(
        "sleeper",
        """
        match: sleep for long
        steps:
          - tool: Bash
            input: {command: 'echo unfinished > wip.txt; python3 -c "import time; time.sleep(3600)"', timeout: 600000}
          - text: done
        """,
    )
    project = platform.project()
    task = platform.ticket("Now sleep for long", project_id=project)
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]
    platform.event(sandbox_id, "agent.tool_use")

    platform.post(f"/tasks/{task['id']}/cancel")
    ended = wait_for(
        "the sandbox to stop",
        lambda: (s := platform.get(f"/sandboxes/{sandbox_id}"))["status"] == "stopped" and s,
    )

    assert platform.task(task["id"])["status"] == "cancelled"
    assert ended["end_reason"] == "its task is over"
    wait_for("its processes to be gone", lambda: not any(sandbox_id in line for line in platform.processes()))
    assert platform.git(project, "show", f"wip/{task['id']}:wip.txt") == "unfinished"
    assert platform.request("POST", f"/tasks/{task['id']}/cancel").status_code == 409
    assert not (platform.data_dir / "sandboxes" / sandbox_id).exists()


def test_terminating_a_sandbox_fails_its_task_until_a_person_retries_it(platform: Platform) -> None:
    platform.script(
        "waiter",
        """
        match: wait once
        steps:
          - tool: Bash
            input:
              command: '[ -e again ] || { touch again; python3 -c "import time; time.sleep(3600)"; }'
              timeout: 600000
          - text: done
        """,
    )
    task = platform.ticket("Please wait once")
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]
    platform.event(sandbox_id, "agent.tool_use")

    assert platform.request("DELETE", f"/sandboxes/{sandbox_id}").is_success
    failed = platform.until(task["id"], "failed")
    platform.post(f"/tasks/{task['id']}/retry", {"message": "go on, please"})
    done = platform.finished(task["id"])

    assert "stopped by admin@localhost; retry the task to continue" in failed["error"]
    assert (done["status"], done["attempt"]) == ("completed", 2)


def test_the_seeds_script_runs_the_same_six_steps_against_any_server(platform: Platform) -> None:
    script = Path(__file__).parents[2] / "scripts" / "test_api_sandbox_spawn.py"
    argv = [sys.executable, str(script), "--url", platform.url, "--token", platform.token]

    done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})

    assert done.returncode == 0, done.stdout + done.stderr
    assert [line[:5] for line in done.stdout.splitlines() if line.startswith("[")] == [f"[{n}/6]" for n in range(1, 7)]
    assert "C(50,25) = 126,410,606,437,752" in done.stdout


def test_a_project_may_begin_from_a_repository_on_this_machine(platform: Platform, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=me", "-c", "user.email=me@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "what was there"]):
        (tmp_path / "mine.txt").write_text("mine")
        subprocess.run([*git, *arguments], check=True)
    project = platform.post("/projects", {"name": "mine", "repo_url": str(tmp_path)})["id"]

    done = platform.finished(platform.ticket("Seeded binomial", project_id=project)["id"])

    files = platform.git(project, "ls-tree", "--name-only", done["branch_name"]).split()
    assert (done["status"], files) == ("completed", ["binomial.py", "mine.txt"])
