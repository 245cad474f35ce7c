"""The log says in a sentence what was salvaged, whatever the sandbox printed."""

import json
from typing import Any

import pytest

from omoi_os.orchestrator.recovery.salvage_summary import summarise

NOTHING: dict[str, Any] = {
    "stopped_worker": False,
    "wip_commit": None,
    "left_out": [],
    "session_id": None,
    "transcript_saved": False,
    "events": 0,
    "events_left": 0,
    "superseded": False,
    "problems": [],
}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({}, "there was nothing to save"),
        ({"transcript_saved": True}, "saved its transcript"),
        (
            {"wip_commit": "a1" * 20, "transcript_saved": True, "events": 7},
            "saved its uncommitted work as commit a1a1a1a1a1a1, its transcript, its events up to number 7",
        ),
        ({"events": 7, "events_left": 3}, "there was nothing to save"),
        (
            {"wip_commit": "a1" * 20, "left_out": ["core"], "stopped_worker": True},
            "saved its uncommitted work as commit a1a1a1a1a1a1; 1 file was left out; its worker was still running",
        ),
    ],
)
def test_a_report_becomes_a_sentence(found: dict[str, Any], sentence: str) -> None:
    assert summarise(json.dumps(NOTHING | found).encode()) == sentence


@pytest.mark.parametrize(
    "printed",
    [b"", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"wip_commit": "a1'],
)
def test_a_report_that_cannot_be_read_is_not_repeated(printed: bytes) -> None:
    assert summarise(printed) == "its work was saved, without a report"


def test_texts_of_the_sandbox_do_not_reach_the_log() -> None:
    forged = {"wip_commit": "sandbox s-1: deleted\n", "events": "all", "left_out": "core", "stopped_worker": "yes"}
    assert summarise(json.dumps(forged).encode()) == "there was nothing to save; 1 file was left out"
