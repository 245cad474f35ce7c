"""The API is away for half a minute while an agent works on: every event of that time is there afterwards, in order."""

import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tests.e2e.platform import Platform

OUTAGE_SECONDS = 30.0

#: Its calls take longer than the outage, from a moment before it to one after it.
SCRIPT = """
match: work on
steps:
  - tool: Bash
    input: {command: 'date +%s.%N >> times; python3 -c "import time; time.sleep(1.3)"'}
    repeat: 24
  - text: worked on
"""


@pytest.mark.timeout(300)
def test_half_a_minute_without_an_api_costs_no_event_of_an_agent_that_works_on(platform: Platform) -> None:
    platform.script("work-on", SCRIPT)
    task = platform.ticket("Please work on")
    sandbox_id = platform.until(task["id"], "running")["sandbox_id"]
    platform.event(sandbox_id, "agent.tool_completed")

    began = datetime.now(UTC)
    until = time.monotonic() + OUTAGE_SECONDS
    # Its supervisor restarts it repeatedly: it dies before it answers.
    while time.monotonic() < until:
        platform.kill_part("api")
    ended = datetime.now(UTC)
    done = platform.finished(task["id"])

    assert (done["status"], done["attempt"]) == ("completed", 1)
    events = platform.events(sandbox_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["event_id"] for event in events}) == len(events)
    told = [event for event in events if event["source"] != "system" and event["event_type"] != "agent.heartbeat"]
    moments = [datetime.fromisoformat(event["occurred_at"]) for event in told]
    assert moments == sorted(moments)
    during = [event for event, moment in zip(told, moments, strict=True) if began < moment < ended]
    assert sum(event["event_type"] == "agent.tool_completed" for event in during) >= 8
    assert max(after - before for before, after in pairwise(moments)).total_seconds() < OUTAGE_SECONDS / 2
    # Nothing of it was stored while the API was away.
    stored = [datetime.fromisoformat(event["created_at"]) for event in during]
    assert min(stored[1:]) > began
    types = [event["event_type"] for event in told]
    assert types.count("agent.tool_use") == types.count("agent.tool_completed") == 24
    uses = [event["event_data"]["tool_use_id"] for event in told if event["event_type"] == "agent.tool_use"]
    ends = [event["event_data"]["tool_use_id"] for event in told if event["event_type"] == "agent.tool_completed"]
    assert uses == ends
    assert (types[0], types[-1]) == ("agent.started", "agent.completed")
