"""`openapi.json` as a generator of clients reads it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from omoi_os.accounts.schemas import Email
from omoi_os.http.text import Command, Line, Prose
from omoi_os.projects.schemas import Branch, RepositoryName


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


def _properties(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every property of a schema, at any depth, with its path."""
    if isinstance(schema, list):
        for item in schema:
            yield from _properties(item, path)
    elif isinstance(schema, dict):
        for name, field in schema.get("properties", {}).items():
            yield f"{path}.{name}", field
        for name, inner in schema.items():
            if name != "example":
                yield from _properties(inner, path if name != "properties" else f"{path}.")


def _operations(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in description["paths"].items():
        for verb, operation in operations.items():
            yield f"{verb.upper()} {path}", operation


def _is_sentence(text: str | None, name: str) -> bool:
    """Return whether a description is a sentence that says more than the name."""
    words = (text or "").replace("`", "").split()
    return len(words) >= 2 and (text or "").rstrip().endswith(".") and " ".join(words).lower() != f"{name}."


def test_every_property_has_a_description(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    found = [entry for name, schema in schemas.items() for entry in _properties(schema, name)]

    assert len(found) > 700
    assert [path for path, field in found if not _is_sentence(field.get("description"), path)] == []
    assert [name for name, schema in schemas.items() if not schema.get("description")] == []


def test_every_parameter_has_a_description(description: dict[str, Any]) -> None:
    found = [
        (f"{place} {parameter['name']}", parameter.get("description"))
        for place, operation in _operations(description)
        for parameter in operation.get("parameters", [])
    ]

    assert len(found) > 80
    assert [place for place, text in found if not _is_sentence(text, place)] == []


def test_every_operation_has_a_summary_and_a_description(description: dict[str, Any]) -> None:
    for place, operation in _operations(description):
        assert operation.get("summary"), place
        assert _is_sentence(operation.get("description"), place), place
        for status, answer in operation["responses"].items():
            assert _is_sentence(answer["description"], place), (place, status)
            assert answer["description"] != "Successful Response", (place, status)


def test_every_request_body_has_an_example_that_its_schema_allows(description: dict[str, Any], app: FastAPI) -> None:
    bodies = {route.operation_id or route.name: route.body_field for route in app.routes if isinstance(route, APIRoute)}
    seen = 0
    for place, operation in _operations(description):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            example = _example(description, content)
            assert example, (place, kind)
            seen += 1
            body = bodies.get(operation["operationId"])
            if body is not None:
                taken: Any = body.field_info.annotation
                TypeAdapter(taken).validate_python(example)
    assert seen >= 15


def _example(description: dict[str, Any], content: dict[str, Any]) -> Any:
    if "example" in content:
        return content["example"]
    schema = content["schema"]
    for option in [schema, *schema.get("anyOf", [])]:
        if "$ref" in option:
            return description["components"]["schemas"][option["$ref"].rpartition("/")[2]].get("example")
    return schema.get("example")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Line, ["a", " a b ", "日本"], ["", "  ", "a\nb", "\x85", "a\x7f"]),
        (Prose, ["a", "a\nb", "\x01a"], ["", " \n", "\x00a", "\x1f"]),
        (Command, ["ls", "a\nb"], [" ", "\x00", "a\x00"]),
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
