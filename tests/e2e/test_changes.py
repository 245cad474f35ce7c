"""What an agent changed and said outlives its sandbox: diffs of every change, and the conversation to go on with."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.e2e.platform import Json, Platform, free_port, wait_for
from tests.providers.daytona.conftest import RUNTIME
from tests.providers.daytona.server import API_KEY
from tests.providers.daytona.standalone import running

EVERY_WAY = """
match: every way
steps:
  - tool: Write
    input: {file_path: a.txt, content: "one\\ntwo\\nthree\\nfour\\nfive\\n"}
  - tool: Edit
    input: {file_path: a.txt, old_string: two, new_string: TWO}
  - tool: Bash
    input: {command: "sed -i s/three/THREE/ a.txt; printf 'a\\\\0b' > blob; seq 20000 > long.txt"}
  - tool: Bash
    input: {command: "git add -A && git -c user.name=a -c user.email=a@a commit -qm half && git mv a.txt b.txt"}
  - tool: Read
    input: {file_path: b.txt}
  - tool: Bash
    input: {command: "rm blob; echo new > c.txt; exit 3"}
  - text: done
"""

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


def edits_of(platform: Platform, sandbox_id: str) -> list[Json]:
    return [event for event in platform.events(sandbox_id) if event["event_type"] == "agent.file_edited"]


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


def kill_sandbox(platform: Platform, sandbox_id: str) -> None:
    """SIGKILL to the sandbox from outside: nothing in it has a last word."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            command = (entry / "cmdline").read_bytes()
            if str(platform.data_dir / "sandboxes" / sandbox_id).encode() in command:
                os.kill(int(entry.name), signal.SIGKILL)


def assert_gone_on(platform: Platform, task_id: str, first: str, *, calls: list[str]) -> Json:
    """The second attempt went on with the first one's conversation, by these calls; its sandbox."""
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


def test_every_change_is_told_once_and_its_diff_outlives_the_sandbox(platform: Platform) -> None:
    platform.script("every-way", EVERY_WAY)
    task = platform.ticket("Change it every way")
    platform.finished(task["id"])

    (sandbox,) = platform.sandboxes(task["id"])
    platform.event(sandbox["id"], "sandbox.terminated")
    edits = edits_of(platform, sandbox["id"])
    told = [(data["tool"], data["change_type"], data["file_path"]) for data in (edit["event_data"] for edit in edits)]
    assert told == [
        ("Write", "created", "a.txt"),
        ("Edit", "modified", "a.txt"),
        ("Bash", "modified", "a.txt"),
        ("Bash", "created", "blob"),
        ("Bash", "created", "long.txt"),
        ("Bash", "renamed", "b.txt"),
        ("Bash", "deleted", "blob"),
        ("Bash", "created", "c.txt"),
    ]
    turns = [edit["event_data"]["turn"] for edit in edits]
    assert turns == [1, 2, 3, 3, 3, 4, 6, 6]
    assert edits[3]["event_data"]["binary"] is True
    assert edits[5]["event_data"]["old_path"] == "a.txt"
    long = platform.request("GET", f"/sandboxes/{sandbox['id']}/events/{edits[4]['event_id']}/diff").text
    assert (edits[4]["event_data"]["full_diff"], long.count("\n+")) == (None, 20_001)
    events = platform.events(sandbox["id"])
    order = [(event["event_type"], event["event_data"].get("tool_use_id")) for event in events]
    for edit in edits:
        call = edit["event_data"]["tool_use_id"]
        completed = order.index(("agent.tool_completed", call))
        assert order.index(("agent.tool_use", call)) < completed < order.index(("agent.file_edited", call))
    whole = platform.request("GET", f"/sandboxes/{sandbox['id']}/diff")
    assert applied(whole.content) == {"b.txt": 5, "c.txt": 1, "long.txt": 20_000}


def applied(diff: bytes) -> dict[str, int]:
    """The lines that git finds added by a diff, for each file."""
    listed = subprocess.run(["git", "apply", "--numstat", "-"], input=diff, capture_output=True, check=True, cwd="/tmp")
    rows = [line.split("\t") for line in listed.stdout.decode().splitlines()]
    return {name: int(added) for added, _, name in rows}


def test_a_killed_attempt_s_conversation_goes_on_in_a_new_sandbox(platform: Platform) -> None:
    task_id, first = hanging(platform)

    kill_sandbox(platform, first)

    # The call that was cut off is made again, the one before it is not.
    second = assert_gone_on(platform, task_id, first, calls=["Bash", "Bash"])
    ended = platform.event(first, "agent.shutdown")["event_data"]
    assert (ended["reason"], "+++ b/first.txt" in ended["session_diff"]) == ("salvaged", True)
    assert second["id"] != first


def test_a_conversation_goes_on_at_another_provider(make_platform: Callable[..., Platform], short_tmp: Path) -> None:
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
