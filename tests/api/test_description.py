"""`openapi.json` as a generator of clients reads it."""

import re
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter, ValidationError

from omoi_os.accounts.schemas import Email
from omoi_os.http.text import Command, Line, Prose
from omoi_os.projects.schemas import Branch, Host, RepositoryName


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


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Line, ["a", " a b ", "日本"], ["", "  ", "a\nb", "\x85", "a\x7f"]),
        (Prose, ["a", "a\nb", "\x01a"], ["", " \n", "\x00a", "\x1f"]),
        (Command, ["ls", "a\nb"], [" ", "\x00", "a\x00"]),
        (Host, ["pypi.org", "a"], ["Ä", "a..b", "-a", "PYPI.org"]),
        (RepositoryName, ["a", ".a", "a.b"], [".", "..", "a.git", "a/b"]),
        (Branch, ["main", "a/b"], ["a..b", "a.lock", "a.lock/b", "a.", "-x", "/a"]),
        (Email, ["a@b"], ["a", "a@b@c", "\x85@a", "a b@c"]),
    ],
)
def test_a_text_that_its_schema_allows_is_accepted(kind: Any, good: list[str], bad: list[str]) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    pattern = re.compile(adapter.json_schema()["pattern"])

    for text in good:
        assert pattern.search(text)
        adapter.validate_python(text)
    for text in bad:
        assert not pattern.search(text)
        with pytest.raises(ValidationError):
            adapter.validate_python(text)
