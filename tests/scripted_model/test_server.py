"""The server's answers, over HTTP."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientPayloadError, ClientResponse, ClientSession, ServerDisconnectedError, web

from omoi_os.errors import ConfigError
from omoi_os.scripted_model.headers import REFUSAL, task_headers
from omoi_os.scripted_model.server import NO_SCRIPT, make_app
from tests.scripted_model.agents import Model

Serve = Callable[..., Awaitable[Model]]

POEM = """
match: poem
steps:
  - {text: Roses are red, tool: Write, input: {file_path: poem.txt, content: Roses}, FAIL}
  - {text: done writing, delay_s: 0.2}
usage: {input_tokens: 12, output_tokens: 8}
judgements:
  Verdict: {score: 0.5}
"""


def script(fail: str = "") -> str:
    return POEM.replace(", FAIL", f", fail: {{{fail}}}" if fail else "")


def ask(prompt: str, *, replies: int = 0, **more: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": prompt}]
    for _ in range(replies):
        turns += [{"role": "assistant", "content": "said"}, {"role": "user", "content": "go on"}]
    return {"model": "any", "max_tokens": 100, "messages": turns, **more}


def wanting(title: str, *properties: str) -> dict[str, Any]:
    schema = {"title": title, "type": "object", "properties": {name: {} for name in properties}}
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    async with ClientSession() as session:
        yield session


async def post(http: ClientSession, model: Model, body: Any, **more: Any) -> tuple[int, Any]:
    data = io.BytesIO(json.dumps(body).encode())
    async with http.post(f"{model.url}/v1/messages?beta=true", data=data, **more) as response:
        return response.status, await response.json()


async def test_a_reply_comes_as_one_object(serve: Serve, http: ClientSession) -> None:
    status, message = await post(http, await serve(script=script()), ask("a poem"))

    text, call = message["content"]
    assert (status, message["model"], message["stop_reason"]) == (200, "scripted", "tool_use")
    assert message["usage"] == {"input_tokens": 12, "output_tokens": 8}
    assert text == {"type": "text", "text": "Roses are red"}
    assert (call["name"], call["input"]["file_path"]) == ("Write", "/workspace/poem.txt")


async def test_a_reply_comes_as_a_stream_that_says_the_same(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script())
    async with http.post(f"{model.url}/v1/messages", json=ask("a poem", stream=True)) as response:
        assert response.content_type == "text/event-stream"
        lines = (await response.text()).splitlines()

    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert names == ["message_start", *block, *block, "message_delta", "message_stop"]
    assert [event["type"] for event in events] == names
    assert events[0]["message"]["usage"]["input_tokens"] == 12
    assert json.loads(events[5]["delta"]["partial_json"])["content"] == "Roses"
    assert (events[-2]["delta"]["stop_reason"], events[-2]["usage"]) == ("tool_use", {"output_tokens": 8})


async def test_the_task_in_the_headers_decides_not_the_prompt(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script())

    by_title = await post(http, model, ask("anything"), headers=task_headers("Write a poem", None))
    by_description = await post(http, model, ask("anything"), headers=task_headers("Write", "x" * 3000 + " poem"))
    other = await post(http, model, ask("a poem"), headers=task_headers("Write a song", ""))

    assert [by_title[0], by_description[0], other[0]] == [200, 200, 400]


async def test_a_task_without_a_script_is_refused_for_good(serve: Serve, http: ClientSession) -> None:
    async with http.post(f"{(await serve()).url}/v1/messages", json=ask("a song", stream=True)) as response:
        assert (response.status, response.headers[REFUSAL]) == (400, "1")
        assert (await response.json())["error"]["message"] == NO_SCRIPT


async def test_a_failure_that_a_script_asks_for_is_not_final(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script("status: 529, times: 2"))
    seen = []
    for session in ("left", "left", "right", "left", "right", "right"):
        async with http.post(
            f"{model.url}/v1/messages", json=ask("a poem"), headers={"X-Claude-Code-Session-Id": session}
        ) as response:
            assert REFUSAL not in response.headers
            seen.append((session, response.status, (await response.json()).get("error", {}).get("type")))

    failed = "overloaded_error"
    assert [entry for entry in seen if entry[0] == "left"] == [
        ("left", 529, failed),
        ("left", 529, failed),
        ("left", 200, None),
    ]
    assert [status for session, status, _ in seen if session == "right"] == [529, 529, 200]


async def test_a_dropped_stream_ends_in_the_middle_of_a_block(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script("status: drop"))
    received = bytearray()

    async def receive(response: ClientResponse) -> None:
        async for piece in response.content.iter_any():
            received.extend(piece)

    async with http.post(f"{model.url}/v1/messages", json=ask("a poem", stream=True)) as response:
        with pytest.raises(ClientPayloadError):
            await receive(response)

    assert b'"text": "Roses "' in received
    assert b"content_block_stop" not in received
    assert (await post(http, model, ask("a poem")))[0] == 200


async def test_a_dropped_answer_that_does_not_stream_never_comes(serve: Serve, http: ClientSession) -> None:
    with pytest.raises(ServerDisconnectedError):
        await post(http, await serve(script=script("status: drop")), ask("a poem"))


async def test_a_delay_passes_before_the_answer(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script())
    started = asyncio.get_running_loop().time()

    status, message = await post(http, model, ask("a poem", replies=1))

    assert (status, message["content"]) == (200, [{"type": "text", "text": "done writing"}])
    assert asyncio.get_running_loop().time() - started >= 0.2


async def test_a_server_that_stops_waits_for_no_delay(tmp_path: Path, http: ClientSession) -> None:
    (tmp_path / "slow.yaml").write_text("match: slow\nsteps: [{text: at last, delay_s: 3600}]")
    arrived = asyncio.Event()

    @web.middleware
    async def tell(request: web.Request, handler: Any) -> web.StreamResponse:
        arrived.set()
        response: web.StreamResponse = await handler(request)
        return response

    app = make_app(tmp_path)
    app.middlewares.append(tell)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    model = Model(f"http://127.0.0.1:{runner.addresses[0][1]}")
    answer = asyncio.create_task(post(http, model, ask("slow")))
    await arrived.wait()

    await asyncio.wait_for(runner.cleanup(), 10)

    assert (await answer)[0] == 200


async def test_a_structured_request_is_answered_by_the_name_of_its_schema(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script())

    status, message = await post(http, model, ask("any task", **wanting("Verdict", "score")))

    assert (status, json.loads(message["content"][0]["text"])) == (200, {"score": 0.5})


async def test_a_structured_request_without_a_judgement_is_refused_by_name(serve: Serve, http: ClientSession) -> None:
    status, answer = await post(http, await serve(), ask("any task", **wanting("Verdict", "score")))

    assert status == 400
    assert "No script has a judgement named 'Verdict'" in answer["error"]["message"]


async def test_a_request_for_a_title_needs_no_script(serve: Serve, http: ClientSession) -> None:
    status, message = await post(http, await serve(), ask("Sing a\nsong", **wanting("", "title")))

    assert (status, json.loads(message["content"][0]["text"])) == (200, {"title": "Sing a song"})


async def test_what_is_not_a_request_for_a_message_gets_an_error_in_json(serve: Serve, http: ClientSession) -> None:
    model = await serve()
    deep = "[" * 100_000
    for data, status in ((b"{", 400), (b"[]", 400), (b"{}", 400), (deep.encode(), 400), (b" " * (33 << 20), 413)):
        async with http.post(f"{model.url}/v1/messages", data=io.BytesIO(data)) as response:
            assert (response.status, (await response.json())["type"]) == (status, "error")
    async with http.get(f"{model.url}/v1/models") as response:
        assert (response.status, (await response.json())["error"]["type"]) == (404, "not_found_error")


async def test_large_requests_are_taken_and_counted(serve: Serve, http: ClientSession) -> None:
    model = await serve(script=script())
    large = ask("a poem " + "x" * (8 << 20))

    assert (await post(http, model, large))[0] == 200
    data = io.BytesIO(json.dumps(large).encode())
    async with http.post(f"{model.url}/v1/messages/count_tokens", data=data) as response:
        assert (await response.json())["input_tokens"] > 2_000_000
    async with http.head(f"{model.url}/api/hello") as response:
        assert response.status == 200


async def test_a_bad_script_stops_the_start_and_later_refuses(
    tmp_path: Path, serve: Serve, http: ClientSession
) -> None:
    model = await serve(good=script())
    bad = next(tmp_path.glob("scripts-*")) / "bad.yaml"
    bad.write_text("match: poem\nsteps: [{say: hello}]")

    with pytest.raises(ConfigError, match=r"bad\.yaml, key steps\[0\]\.say"):
        make_app(bad.parent)
    status, answer = await post(http, model, ask("a poem"))
    assert status == 400
    assert f"{bad}, key steps[0].say" in answer["error"]["message"]
