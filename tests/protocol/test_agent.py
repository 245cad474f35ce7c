"""The messages between the reporter and an agent driver: they survive the channel, and nonsense does not."""

import json
from typing import Any, get_args

import pytest

from omoi_os.protocol.agent import (
    MAX_IDENTIFIER_CHARACTERS,
    ORDERS,
    REPORTS,
    AgentEvent,
    BadMessage,
    Delivered,
    DriverOrder,
    DriverReport,
    End,
    Failed,
    Interrupt,
    Interrupted,
    Ready,
    ReleaseTool,
    Say,
    Start,
    Started,
    ToolHeld,
    TurnEnded,
    TurnError,
    TurnProblem,
    Usage,
    decode_order,
    decode_report,
    encode,
)

ORDER_EXAMPLES: list[DriverOrder] = [
    Start("do it", guidance="be brief", workspace="/w", snapshots="/s", environ={"HOME": "/h"}),
    Start(
        "do it",
        guidance="",
        workspace="/w",
        snapshots="/s",
        environ={},
        resume="s1",
        skills=("/plugin",),
        model="m",
        max_turns=3,
        max_budget_usd=0.5,
        permission_mode="default",
    ),
    Say("hello\nworld"),
    Say("stop", "now", "m1", only_stop=True),
    Interrupt(),
    ReleaseTool(7),
    End(),
]

REPORT_EXAMPLES: list[DriverReport] = [
    Ready(),
    Started("s1"),
    AgentEvent("agent.message", {"text": "ü\u2028", "turn": 1}),
    Delivered("m1"),
    Interrupted(),
    Interrupted("m1"),
    ToolHeld(1),
    TurnEnded(),
    TurnEnded(TurnError(TurnProblem.MODEL, "busy", 529), interrupted=True, pending=2, usage=Usage(1, 2, 3, 4)),
    TurnEnded(final_output="done", session_id="s1", stop_reason="end_turn", outcome="success", cost_usd=0.25),
    Failed("it broke", -9, "half a"),
]


@pytest.mark.parametrize("order", ORDER_EXAMPLES, ids=repr)
def test_an_order_survives_the_channel(order: DriverOrder) -> None:
    line = encode(order)

    assert line.count(b"\n") == 1
    assert decode_order(line) == order


@pytest.mark.parametrize("report", REPORT_EXAMPLES, ids=repr)
def test_a_report_survives_the_channel(report: DriverReport) -> None:
    line = encode(report)

    assert line.count(b"\n") == 1
    assert decode_report(line) == report


def test_every_message_has_a_name_and_an_example() -> None:
    assert set(ORDERS.values()) == set(get_args(DriverOrder)) == {type(order) for order in ORDER_EXAMPLES}
    assert set(REPORTS.values()) == set(get_args(DriverReport)) == {type(report) for report in REPORT_EXAMPLES}


def test_fields_of_a_later_version_are_ignored() -> None:
    assert decode_report(b'{"type": "started", "session_id": "s", "colour": "blue"}') == Started("s")


def test_values_that_are_not_json_become_their_text() -> None:
    assert decode_report(encode(AgentEvent("agent.message", {"text": 1j}))) == AgentEvent(
        "agent.message", {"text": "1j"}
    )


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({}, "unknown message type 'None'"),
        ({"type": ["started"]}, "unknown message type"),
        ({"type": "start"}, "unknown message type 'start'"),
        ({"type": "started"}, "invalid 'started' message: session_id is missing"),
        ({"type": "started", "session_id": ""}, "session_id: expected a string of 1 to"),
        ({"type": "started", "session_id": "x" * (MAX_IDENTIFIER_CHARACTERS + 1)}, "session_id: expected a string"),
        ({"type": "delivered", "message_id": None}, "message_id: expected a string"),
        ({"type": "event", "event_type": "agent.message", "event_data": "text"}, "event_data: expected an object"),
        ({"type": "event", "event_type": "agent.completed", "event_data": {}}, "'agent.completed' is not allowed"),
        ({"type": "event", "event_type": 7, "event_data": {}}, "event_type: expected a string"),
        ({"type": "tool_held", "number": True}, "number: expected an integer"),
        ({"type": "turn_ended", "interrupted": 1}, "interrupted: expected true or false"),
        ({"type": "turn_ended", "cost_usd": "0.5"}, "cost_usd: expected a finite number"),
        ({"type": "turn_ended", "usage": {"input_tokens": "many"}}, "usage: input_tokens: expected an integer"),
        ({"type": "turn_ended", "error": {"problem": "rain"}}, "error: problem: 'rain' is not a valid TurnProblem"),
        ({"type": "turn_ended", "error": []}, "error: expected an object"),
    ],
)
def test_an_invalid_report_is_refused_with_its_reason(message: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadMessage) as refused:
        decode_report(json.dumps(message).encode())

    assert reason in str(refused.value)


def test_an_invalid_order_is_refused_with_its_reason() -> None:
    start: dict[str, Any] = {"type": "start", "prompt": "", "guidance": "", "workspace": "/w", "snapshots": "/s"}
    for more, reason in (
        ({}, "environ is missing"),
        ({"environ": {"A": 1}}, "environ: expected a string"),
        ({"environ": {}, "skills": "/plugin"}, "skills: expected a list"),
    ):
        with pytest.raises(BadMessage, match=reason):
            decode_order(json.dumps(start | more).encode())


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b"1e999",
        b'{"type": 1e999}',
        b"9" * 5000,
        b'{"type": NaN}',
    ],
)
def test_no_nonsense_raises_anything_else(line: bytes) -> None:
    for decode in (decode_order, decode_report):
        with pytest.raises(BadMessage):
            decode(line)
