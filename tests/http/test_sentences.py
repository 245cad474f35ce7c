"""Every validation error is explained in our own words."""

from collections.abc import Iterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from omoi_os.http.sentences import SENTENCES, explain
from omoi_os.sandboxes.schemas import EventIn
from omoi_os.stream.requests import Operation

#: Values that are wrong for one type of field or another.
BAD: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**6, 10**30, 1e308, float("inf"), "", " ", "x", "x" * 600_000, "\x00", "1e999", "1.5"),
    *("9" * 5000, "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "\ud800", b"\xff"),
    *([], [None], ["x"] * 2000, {}, {"x": 1}, object()),
]


def _dependants(dependant: Dependant) -> Iterator[Dependant]:
    yield dependant
    for inner in dependant.dependencies:
        yield from _dependants(inner)


def _fields(app: FastAPI) -> Iterator[Any]:
    """Yield the type of every parameter and every body."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            for dependant in _dependants(route.dependant):
                for field in (
                    *dependant.path_params,
                    *dependant.query_params,
                    *dependant.header_params,
                    *dependant.body_params,
                ):
                    yield field.field_info
    yield TypeAdapter(EventIn)
    yield TypeAdapter(Operation)


def _adapter(field: Any) -> TypeAdapter[Any]:
    if isinstance(field, TypeAdapter):
        return field
    return TypeAdapter(Annotated[field.annotation, field])


def _errors(adapter: TypeAdapter[Any]) -> Iterator[dict[str, Any]]:
    """Yield the errors of bad values for the type itself and for each of its fields."""
    schema = adapter.json_schema(mode="validation")
    names = {name for shape in (schema, *schema.get("$defs", {}).values()) for name in shape.get("properties", {})}
    tries = [*BAD, *({name: value} for name in names for value in BAD)]
    tries += [{"settings": {name: value}} for name in names for value in BAD if "settings" in names]
    for value in tries:
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            yield from error.errors()  # type: ignore[misc]


def test_every_type_of_error_that_our_schemas_produce_has_a_sentence(app: FastAPI) -> None:
    found: dict[str, dict[str, Any]] = {}
    for field in _fields(app):
        for error in _errors(_adapter(field)):
            found.setdefault(error["type"], error)
            sentence = explain(error)
            assert sentence
            assert len(sentence) < 400
            assert "Input should" not in sentence

    assert found.keys() - SENTENCES.keys() == {"value_error"}
    assert {"missing", "enum", "literal_error", "uuid_parsing", "greater_than_equal", "timezone_aware"} <= found.keys()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"priority": "urgent"}, "priority: must be one of LOW, MEDIUM, HIGH, CRITICAL (got 'urgent')"),
        ({"title": None}, "title: must be a string (got null)"),
        ({"title": ""}, "title: must not be empty"),
        ({"title": "x" * 301}, "title: must have at most 300 characters (got 301)"),
        ({"project_id": "x"}, "project_id: must be a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057 (got 'x')"),
        ({"budget_usd": 0}, "budget_usd: must be greater than 0 (got 0)"),
        ({"budget_usd": "much"}, "budget_usd: must be a number (got 'much')"),
        ({"budget_usd": 10**7}, "budget_usd: must be at most 1000000 (got 10000000)"),
        ({"acceptance": "make test"}, "acceptance: must be a list"),
        ({"acceptance": [["a"]]}, "acceptance.0: must be a string (got a list)"),
        ({"workflow_mode": "slow"}, "workflow_mode: must be quick (got 'slow')"),
        (
            {"workflow_mode": "Spec_Driven"},
            "workflow_mode: spec_driven is not available yet; leave it out to use quick",
        ),
        ({"model": "x"}, "model: is not available yet; leave it out"),
        ({"acceptence": []}, "acceptence: is not a known field"),
        ({"github_repo": None}, "give project_id, or github_owner and github_repo"),
    ],
)
async def test_a_sentence_names_the_field_and_what_is_allowed(
    ada: httpx.AsyncClient, body: dict[str, Any], sentence: str
) -> None:
    answer = await ada.post("/tickets", json={"title": "x", "github_owner": "a", "github_repo": "b"} | body)

    assert (answer.status_code, answer.json()["detail"]) == (422, sentence)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("limit=0", "limit: must be at least 1 (got 0)"),
        ("limit=501", "limit: must be at most 500 (got 501)"),
        ("limit=x", "limit: must be a whole number (got 'x')"),
        ("has_sandbox=maybe", "has_sandbox: must be true or false (got 'maybe')"),
        (
            "status=open",
            "status: must be one of blocked, pending, assigned, running, verifying, completed, failed, cancelled "
            "(got 'open')",
        ),
    ],
)
async def test_a_sentence_about_a_parameter(ada: httpx.AsyncClient, query: str, sentence: str) -> None:
    answer = await ada.get(f"/tasks?{query}")

    assert (answer.status_code, answer.json()["detail"]) == (422, sentence)


def test_values_are_repeated_only_if_they_are_short_and_printable() -> None:
    def sentence(value: object) -> str:
        return explain({"type": "enum", "loc": ("body", "x"), "ctx": {"expected": "'a' or 'b'"}, "input": value})

    assert sentence("c" * 1000) == f"must be one of a, b (got '{'c' * 39}…')"
    assert sentence("\x1b[31m") == "must be one of a, b"
    assert sentence(10**5000) == "must be one of a, b (got more than 20 digits)"
