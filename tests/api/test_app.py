"""The application as it describes itself."""

import re
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from omoi_os.api.docs import PAGE
from omoi_os.config import Settings, load_settings
from omoi_os.db.base import Sessions
from tests.api.conftest import calling

PARAMETERS = {"project_id", "ticket_id", "task_id", "sandbox_id", "event_id", "user_id", "sha256"}
PARAMETERS |= {"key_id", "session_id", "credential_id"}


@pytest.fixture
async def root(app: FastAPI) -> Any:
    async with calling(app, base="http://omoi") as client:
        yield client


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(verb, path, item) for path, verbs in schema["paths"].items() for verb, item in verbs.items()]


async def test_the_description_needs_no_token_and_names_its_parameters(root: httpx.AsyncClient) -> None:
    schema = (await root.get("/openapi.json")).json()

    found = {name for path in schema["paths"] for name in re.findall(r"{(\w+)}", path)}
    assert schema["info"]["title"] == "OmoiOS"
    assert found == PARAMETERS


async def test_every_operation_is_described(root: httpx.AsyncClient) -> None:
    schema = (await root.get("/openapi.json")).json()

    names = [item["operationId"] for _, _, item in operations(schema)]
    assert len(names) == len(set(names))
    assert {"create_ticket", "post_events", "create_api_key"} <= set(names)
    for verb, path, item in operations(schema):
        assert item["summary"], (verb, path)
        assert item["description"], (verb, path)
        if path not in ("/health", "/ready"):
            assert item["security"], (verb, path)
            assert {"401", "403", "422", "503"} <= set(item["responses"]), (verb, path)
        for status, response in item["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"], (verb, path, status)


async def test_every_reference_in_the_description_leads_somewhere(root: httpx.AsyncClient) -> None:
    answer = await root.get("/openapi.json")

    schemas = answer.json()["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/(\w+)"', answer.text))
    assert {"Problem", "FieldError", "TicketIn", "EventIn"} <= references
    assert references <= set(schemas)
    assert all(
        "example" in schemas[name] for name in ("ProjectIn", "TicketIn", "TaskIn", "EventIn", "UserIn", "Problem")
    )


async def test_creations_take_an_idempotency_key(root: httpx.AsyncClient) -> None:
    schema = (await root.get("/openapi.json")).json()

    for path in ("/projects", "/tickets", "/tasks", "/users", "/users/{user_id}/api-keys"):
        parameters = schema["paths"][f"/api/v1{path}"]["post"]["parameters"]
        assert "Idempotency-Key" in [parameter["name"] for parameter in parameters]


async def test_the_page_needs_nothing_from_elsewhere(root: httpx.AsyncClient) -> None:
    answer = await root.get("/docs")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert not re.findall(r"https?://", PAGE)
    assert re.findall(r'(?:src|href)="([^"]*)"', PAGE) == ["data:,", "/openapi.json", "/openapi.json"]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


async def test_the_process_lives_and_is_ready(root: httpx.AsyncClient, app: FastAPI, settings: Settings) -> None:
    assert (await root.get("/health")).json() == {"status": "ok"}
    ready = (await root.get("/ready")).json()
    assert {key for key in ready if key != "warnings"} == {"status", "model"}
    assert (ready["status"], ready["model"]) == ("ready", "claude-sonnet-4-5")
    for probe in ("/health", "/ready"):
        assert (await root.head(probe)).status_code == 200

    app.state.settings = load_settings(environ={}, config_dir=settings.data_dir, anthropic_api_key="k", model="opus")
    assert (await root.get("/ready")).json()["model"] == "opus"
    app.state.settings = load_settings(environ={}, config_dir=settings.data_dir)
    assert (await root.get("/ready")).json()["model"] == "scripted"


async def test_an_old_schema_is_not_ready(root: httpx.AsyncClient, sessions: Sessions) -> None:
    async with sessions.begin() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = 'older'"))

    answer = await root.get("/ready")

    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
