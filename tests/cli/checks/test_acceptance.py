"""How the acceptance case judges a sandbox's events."""

from typing import Any

import pytest

from omoi_os.cli.checks.acceptance import ANSWER, event_faults, printed_number


def events(*kinds: str) -> list[dict[str, Any]]:
    data = {"agent.file_edited": {"diff_preview": "@@ -0,0 +1 @@"}}
    return [{"seq": seq, "event_type": kind, "event_data": data.get(kind, {})} for seq, kind in enumerate(kinds, 1)]


PROMISED = (
    "sandbox.created",
    "agent.started",
    *["agent.tool_use", "agent.file_edited"] * 2,
    "agent.tool_use",
    "agent.completed",
)


def bash(output: str, *, is_error: bool = False) -> dict[str, Any]:
    data = {"tool": "Bash", "output": output, "is_error": is_error}
    return {"seq": 1, "event_type": "agent.tool_completed", "event_data": data}


def test_events_as_promised_have_no_event_faults() -> None:
    assert event_faults(events(*PROMISED), strict=True) == []


@pytest.mark.parametrize("missing", ["agent.started", "agent.tool_use", "agent.file_edited", "agent.completed"])
def test_each_missing_event_is_named(missing: str) -> None:
    kinds = list(PROMISED)
    kinds.remove(missing)

    assert [fault for fault in event_faults(events(*kinds), strict=True) if missing in fault]


def test_a_second_completion_is_a_fault() -> None:
    assert event_faults(events(*PROMISED, "agent.completed"), strict=False) == ["2 agent.completed events instead of 1"]


def test_a_real_model_may_take_fewer_steps() -> None:
    assert event_faults(events("agent.started", "agent.tool_use", "agent.completed"), strict=False) == []


def test_a_gap_in_the_numbers_is_a_fault() -> None:
    listed = events(*PROMISED)
    del listed[0]

    assert event_faults(listed, strict=True) == ["the event numbers have a gap or are out of order"]


def test_an_edit_without_a_diff_is_a_fault() -> None:
    listed = events(*PROMISED)
    listed[3]["event_data"] = {"diff_preview": None}

    assert event_faults(listed, strict=True) == ["an agent.file_edited event has no unified diff"]


def test_the_answer_is_the_number_that_the_program_printed() -> None:
    assert printed_number([bash(f"{ANSWER}\n"), bash("[feature/x 1a2b3c4] commit")]) == ANSWER


def test_an_answer_that_the_program_did_not_print_does_not_count() -> None:
    said = {"seq": 1, "event_type": "agent.message", "event_data": {"text": str(ANSWER)}}

    assert printed_number([said, bash(str(ANSWER), is_error=True), bash("9" + str(ANSWER))]) is None
