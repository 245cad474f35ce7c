"""Modes with real parts: an implementation is repeated inside its sandbox before the platform judges it."""

from tests.e2e.platform import Platform


def test_a_check_that_fails_inside_is_mended_in_the_same_attempt(platform: Platform) -> None:
    platform.script(
        "mend",
        """
        match: mend it yourself
        steps:
          - tool: Bash
            input: {command: 'echo bad > answer'}
          - text: done
        on_message:
          - match: not accepted yet
            steps:
              - tool: Bash
                input: {command: 'echo good > answer'}
              - text: mended
        """,
    )
    task = platform.ticket("Please mend it yourself", acceptance=["cat answer; grep -q good answer"])

    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"], done["result"]["final_output"]) == ("completed", 1, "mended")
    (sandbox,) = platform.sandboxes(task["id"])
    events = platform.events(sandbox["id"])
    validations = [e["event_data"] for e in events if e["event_type"] == "iteration.validation"]
    assert [each["passed"] for each in validations] == [False, True]
    assert validations[0]["checks"][0]["output"] == "bad\n"
    (completed,) = (e["event_data"] for e in events if e["event_type"] == "agent.completed")
    assert (completed["stop_reason"], completed["iterations"]) == ("verified", 2)
    # The word from inside is not believed: the platform checks for itself.
    assert len(platform.sandboxes(task["id"], purpose="verify")) == 1


def test_an_ad_hoc_sandbox_that_is_deleted_while_it_waits_ends_cleanly(platform: Platform) -> None:
    platform.script("answer", "match: what is the answer\nsteps:\n  - text: It is 42.\n")
    ordered = platform.post("/sandboxes", {"project_id": platform.project(), "prompt": "what is the answer"})
    done = platform.finished(ordered["task_id"])
    platform.event(done["sandbox_id"], "agent.waiting")

    assert platform.request("DELETE", f"/sandboxes/{done['sandbox_id']}").status_code == 202
    terminated = platform.event(done["sandbox_id"], "sandbox.terminated")

    assert (done["status"], done["result"]["final_output"]) == ("completed", "It is 42.")
    assert terminated["event_data"]["reason"] == "stopped by admin@localhost"
    types = [event["event_type"] for event in platform.events(done["sandbox_id"])]
    assert types[-2:] == ["agent.shutdown", "sandbox.terminated"]
    assert platform.task(ordered["task_id"])["status"] == "completed"
