"""What a verdict says: verified only where a check proved something."""

from tests.e2e.platform import Json, Platform, wait_for

TESTED = """
match: '(?i){match}'
steps:
  - tool: Bash
    input: {{command: 'echo 42 > answer'}}
  - text: done
"""
ONE_TEST = """
match: '(?i)with one test'
steps:
  - tool: Write
    input:
      file_path: test_it.py
      content: "import unittest\\n\\nclass T(unittest.TestCase):\\n    def test_it(self):\\n        pass\\n"
  - text: done
"""


def verified_again(platform: Platform, task_id: str, **body: object) -> Json:
    """Ask for another verdict and wait for it."""
    assert platform.post(f"/tasks/{task_id}/verify", body)["verification_requested_at"]

    def look() -> Json | None:
        task = platform.task(task_id)
        return task if task["verification_requested_at"] is None else None

    return wait_for(f"another verdict on task {task_id}", look)


def test_a_ticket_without_checks_is_unchecked_until_a_check_is_run_on_its_commit(platform: Platform) -> None:
    platform.script("unchecked", TESTED.format(match="nobody checks this"))
    project = platform.project()
    first = platform.ticket("Nobody checks this", project_id=project)
    after = platform.ticket("Nobody checks this either", project_id=project, depends_on=[first["ticket_id"]])
    done = platform.finished(first["id"])
    refused = platform.request("POST", f"/tasks/{first['id']}/verify", json={})

    good = verified_again(platform, first["id"], acceptance=["grep -q 42 answer"])
    bad = verified_again(platform, first["id"], acceptance=["grep -q 43 answer"])

    assert (done["status"], done["result"]["verdict"], done["result"]["verified"]) == ("completed", "unchecked", False)
    assert "no acceptance commands" in done["result"]["reason"]
    assert (refused.status_code, "acceptance" in refused.json()["detail"]) == (409, True)
    assert [(task["result"]["verdict"], task["result"]["verified"]) for task in (good, bad)] == [
        ("verified", True),
        ("failed", False),
    ]
    assert {task["status"] for task in (good, bad)} == {"completed"}
    assert {task["attempt"] for task in (good, bad)} == {1}
    assert {task["result"]["commit_sha"] for task in (done, good, bad)} == {done["result"]["commit_sha"]}
    assert bad["result"]["checks"][0]["exit_code"] == 1
    events = [event for event in platform.events(done["sandbox_id"]) if event["event_type"] == "task.verified"]
    assert [event["event_data"]["verdict"] for event in events] == ["unchecked", "verified", "failed"]
    assert platform.finished(after["id"])["status"] == "completed"


def test_a_check_that_collects_no_tests_proves_nothing(platform: Platform) -> None:
    platform.script("no-tests", TESTED.format(match="without any test"))
    platform.script("a-test", ONE_TEST)
    without = platform.ticket("Do it without any test", acceptance=["python3 -m unittest"])
    mixed = platform.ticket("And without any test again", acceptance=["python3 -m unittest", "test -s answer"])
    with_one = platform.ticket("Do it with one test", acceptance=["python3 -m unittest"])

    results = [platform.finished(task["id"])["result"] for task in (without, mixed, with_one)]

    assert [result["verdict"] for result in results] == ["unchecked", "verified", "verified"]
    assert "collected no tests" in results[0]["reason"]
    warnings = [[check["warning"] for check in result["checks"]] for result in results]
    assert warnings == [["no tests were collected"], ["no tests were collected", None], [None]]
    assert [result["changed_checks"] for result in results] == [[], [], ["test_it.py"]]
    assert {check["baseline"] for result in results for check in result["checks"]} == {"not_run"}


def test_an_answer_without_a_commit_is_unchecked_whatever_the_project_s_checks_say(platform: Platform) -> None:
    platform.script("look", "match: only look\nsteps:\n  - tool: Bash\n    input: {command: ls}\n  - text: seen\n")
    project = platform.project(acceptance=["false"])

    ordered = platform.post("/sandboxes", {"project_id": project, "prompt": "Please only look"})
    done = platform.finished(ordered["task_id"])

    assert (done["status"], done["attempt"], done["result"]["verdict"]) == ("completed", 1, "unchecked")
    assert (done["result"]["commit_sha"], done["result"]["checks"]) == (None, [])
    assert "without a commit" in done["result"]["reason"]
    answer = platform.request("POST", f"/tasks/{done['id']}/verify", json={"acceptance": ["true"]})
    assert (answer.status_code, "no stored commit" in answer.json()["detail"]) == (409, True)
    platform.request("DELETE", f"/sandboxes/{done['sandbox_id']}")


def test_an_accepted_verification_survives_the_orchestrator(platform: Platform) -> None:
    platform.script("survives", TESTED.format(match="verified across a kill"))
    task = platform.ticket("Verified across a kill")
    platform.finished(task["id"])
    platform.post(f"/tasks/{task['id']}/verify", {"acceptance": ["sleep 2; grep -q 42 answer"]})
    again = platform.request("POST", f"/tasks/{task['id']}/verify", json={"acceptance": ["true"]})

    platform.kill_part("orchestrator")
    done = wait_for(
        "a verdict", lambda: t if (t := platform.task(task["id"]))["verification_requested_at"] is None else None
    )

    assert (again.status_code, "already being verified" in again.json()["detail"]) == (409, True)
    assert (done["status"], done["attempt"], done["result"]["verdict"]) == ("completed", 1, "verified")
    assert done["result"]["checks"][0]["command"] == "sleep 2; grep -q 42 answer"


def test_a_check_finds_nothing_of_what_an_earlier_one_did(platform: Platform) -> None:
    platform.script(
        "tampers",
        """
        match: '(?i)tampered with'
        steps:
          - tool: Bash
            input: {command: 'echo changed >> README.md'}
          - text: done
        """,
    )
    task = platform.finished(platform.ticket("README tampered with")["id"])
    attack = "git update-ref refs/remotes/origin/main HEAD; git config --global alias.diff '!true'; touch /tmp/left x"
    unchanged = "git diff --quiet origin/main -- README.md"
    clean = "! ls /tmp/left x && test -z \"$(git config --global alias.diff)\" && ! grep -qs '^sleep$' /proc/*/comm"

    together = verified_again(platform, task["id"], acceptance=[f"{attack}; {unchanged}"])["result"]
    apart = verified_again(platform, task["id"], acceptance=[attack, unchanged])["result"]
    nothing_left = verified_again(platform, task["id"], acceptance=[f"{attack}; (setsid sleep 600 &)", clean])["result"]

    assert together["verdict"] == "verified", together  # positive control: within one command the attack works
    assert apart["verdict"] == "failed", apart
    assert [check["exit_code"] for check in apart["checks"]] == [0, 1]
    assert nothing_left["verdict"] == "verified", nothing_left


def test_a_broken_environment_stops_the_task_at_its_first_attempt(platform: Platform) -> None:
    platform.script("lacks", TESTED.format(match="lacks a tool"))
    broken = platform.ticket("It lacks a tool", acceptance=["no-such-tool --check"])
    wrong = platform.ticket("It lacks a tool or not", acceptance=["grep -q 43 answer"])

    stopped = platform.finished(broken["id"])
    retried = wait_for("a second attempt", lambda: t if (t := platform.task(wrong["id"]))["attempt"] > 1 else None)
    platform.request("POST", f"/tasks/{wrong['id']}/cancel")

    assert (stopped["status"], stopped["attempt"], stopped["error_type"]) == ("failed", 1, "environment")
    assert "`no-such-tool` is missing in the sandbox" in stopped["error"]
    assert (stopped["result"]["verdict"], stopped["result"]["checks"][0]["exit_code"]) == ("failed", 127)
    assert (retried["result"]["verdict"], retried["error_type"]) == ("failed", None)
