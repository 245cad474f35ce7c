"""A task whose first attempt is killed, and how to tell that the second one resumes the conversation."""

import json

from tests.e2e.platform import Json, Platform, wait_for

#: Hangs in its second call, the first time.
HANG_ONCE = """
match: go on
steps:
  - tool: Write
    input: {file_path: first.txt, content: "first\\n"}
  - tool: Bash
    input: {command: 'echo a > again.txt; echo ran >> second.txt; [ -e again ] || { touch again; python3 -c
      "import time; time.sleep(3600)"; }', timeout: 600000}
  - tool: Bash
    input: {command: cat first.txt second.txt}
  - text: "at last: {{output}}"
"""


def tools_of(platform: Platform, sandbox_id: str) -> list[str]:
    events = platform.events(sandbox_id)
    return [event["event_data"]["tool"] for event in events if event["event_type"] == "agent.tool_use"]


def init_of(platform: Platform, sandbox_id: str) -> Json:
    data: Json = platform.event(sandbox_id, "agent.system_message")["event_data"]
    return data


def hanging(platform: Platform) -> tuple[str, str]:
    """A task whose first attempt hangs in its second call, and that attempt's sandbox."""
    platform.script("hang-once", HANG_ONCE)
    task = platform.ticket("Please go on", acceptance=["grep -q first first.txt"])
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]
    wait_for("its second call to be saved", lambda: "again.txt" in transcript_of(platform, sandbox_id))
    wait_for("its second call", lambda: len(tools_of(platform, sandbox_id)) == 2)
    return task["id"], sandbox_id


def transcript_of(platform: Platform, sandbox_id: str) -> str:
    answer = platform.request("GET", f"/sandboxes/{sandbox_id}/transcript")
    return answer.text if answer.is_success else ""


def assert_gone_on(platform: Platform, task_id: str, first: str, *, calls: list[str]) -> Json:
    """Assert that the second attempt resumed the conversation with these calls; return its sandbox."""
    done = platform.finished(task_id)
    assert (done["status"], done["attempt"]) == ("completed", 2), done
    second = platform.sandboxes(task_id)[-1]
    session_id = init_of(platform, first)["session_id"]
    init = init_of(platform, second["id"])
    assert (init["session_id"], init["resumed_session_id"]) == (session_id, session_id)
    assert tools_of(platform, second["id"]) == calls
    assert done["result"]["final_output"].startswith("at last: first")
    lines = [json.loads(line) for line in transcript_of(platform, second["id"]).splitlines()]
    said = json.dumps([line["message"] for line in lines if line["type"] in ("user", "assistant")])
    assert said.index("first.txt") < said.index("This is a new attempt") < said.index("at last: first")
    return second
