"""`openapi.json` as a generator of clients reads it."""

from typing import Any

import pytest
from fastapi import FastAPI


@pytest.fixture
def description(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


def test_what_an_answer_always_has_is_described_so(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]

    for name in ("TaskOut", "TaskResult", "TicketOut", "TicketPage", "SandboxOut", "SandboxPage", "MeOut", "EventPage"):
        assert set(schemas[name]["required"]) == set(schemas[name]["properties"]), name
    assert set(schemas["TicketIn"]["required"]) == {"title"}


def test_events_are_listed_as_what_they_are(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]

    for page in ("EventPage", "Trajectory"):
        assert schemas[page]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/SandboxEvent"}
    assert "agent.tool_use" in schemas["AgentEvent"]["discriminator"]["mapping"]


def test_every_answer_has_a_type(description: dict[str, Any]) -> None:
    for path, operations in description["paths"].items():
        for verb, operation in operations.items():
            for status, answer in operation["responses"].items():
                assert status == "204" or answer["content"], (verb, path)
                for kind, content in answer.get("content", {}).items():
                    assert content["schema"], (verb, path, kind)
