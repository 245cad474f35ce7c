"""Enums in any case."""

from enum import StrEnum
from typing import Any, Literal

import httpx
import pytest
from fastapi import FastAPI
from pydantic import TypeAdapter, ValidationError

from omoi_os.http.choices import AnyCase


class Colour(StrEnum):
    RED = "red"
    BLUE = "BLUE"


KINDS: list[Any] = [AnyCase[Colour], AnyCase[Literal["red", "BLUE"]], AnyCase[Colour] | None]  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_in_any_case_becomes_the_canonical_one(kind: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    assert [adapter.validate_python(value) for value in ("red", "Red", "blue", "BLUE")] == [
        "red",
        "red",
        "BLUE",
        "BLUE",
    ]
    for bad in ("green", 1, ["red"]):
        with pytest.raises(ValidationError):
            adapter.validate_python(bad)


async def test_bodies_take_enums_in_any_case_and_answer_in_the_canonical_one(ada: httpx.AsyncClient) -> None:
    body = {"title": "x", "github_owner": "a", "github_repo": "b"}
    body |= {"priority": "critical", "ticket_type": "BUG", "workflow_mode": "Quick"}
    ticket = (await ada.post("/tickets", json=body)).json()

    assert [ticket[name] for name in ("priority", "ticket_type", "workflow_mode")] == ["CRITICAL", "bug", "quick"]
    changed = await ada.patch(f"/tickets/{ticket['id']}", json={"priority": "low", "status": "CANCELLED"})
    assert (changed.json()["priority"], changed.json()["status"]) == ("LOW", "cancelled")


async def test_queries_take_enums_in_any_case(ada: httpx.AsyncClient) -> None:
    body = {"title": "x", "github_owner": "a", "github_repo": "b"}
    assert (await ada.post("/tickets", json=body)).status_code == 201

    for query in ("/tickets?status=Backlog&priority=medium&ticket_type=FEATURE", "/tasks?status=PENDING"):
        assert len((await ada.get(query)).json()["items"]) == 1


def _enums(document: dict[str, Any], schema: Any) -> list[list[Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in _enums(document, item)]
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return _enums(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    own = [schema["enum"]] if "enum" in schema else []
    return own + [found for value in schema.values() for found in _enums(document, value)]


async def test_no_query_parameter_with_an_enum_refuses_another_case(app: FastAPI, ada: httpx.AsyncClient) -> None:
    document = app.openapi()
    tried = 0
    for path, operations in document["paths"].items():
        if "{" in path or "get" not in operations:
            continue
        for parameter in operations["get"].get("parameters", []):
            for values in _enums(document, parameter["schema"]):
                answer = await ada.get(f"http://omoi{path}", params={parameter["name"]: str(values[0]).swapcase()})
                assert answer.status_code != 422, answer.text
                tried += 1
    assert tried >= 5
