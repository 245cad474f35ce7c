"""What model calls are charged, and when they are refused."""

import asyncio
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message, ResultMessage, SystemMessage

from omoi_os.db.base import Sessions
from omoi_os.gateway.context import PARTS
from omoi_os.masking import MASK
from omoi_os.sandboxes.metering import budget_used_up
from omoi_os.sandboxes.models import Sandbox
from omoi_os.scripted_model.server import NO_SCRIPT
from tests.gateway.answers import BODY, COST, STREAM, TOKENS, USAGE, error, refusal, saying, spent, streaming
from tests.gateway.conftest import KEY, OpenSocket, Start
from tests.gateway.places import Host


async def test_a_stream_is_charged_to_the_sandbox_and_its_task_before_its_end_arrives(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = streaming(*STREAM)

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            async for chunk in answer.content.iter_any():
                if b"message_stop" in chunk:
                    assert await spent(sessions, gateway_socket) == (COST, TOKENS)

    assert await spent(sessions, gateway_socket) == (COST, TOKENS)


async def test_an_answer_that_is_not_streamed_is_charged_too(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    await start()
    message = {"type": "message", "model": "claude-sonnet-4-5", "usage": USAGE | {"output_tokens": 500}}
    model.answer = saying(200, message)

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY | {"stream": False}) as answer:
            assert await answer.json() == message

    assert await spent(sessions, gateway_socket) == (COST, TOKENS)


async def test_counting_tokens_costs_nothing(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = saying(200, {"input_tokens": 7})

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages/count_tokens", json=BODY) as answer:
            assert await answer.json() == {"input_tokens": 7}

    assert await spent(sessions, gateway_socket) == (0.0, 0)


async def test_a_client_that_disconnects_pays_for_the_output_so_far(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    runner = await start()
    hung_up = asyncio.Event()

    async def stop_before_the_count(number: int) -> None:
        if number == 2:
            try:
                await asyncio.Event().wait()
            finally:
                hung_up.set()

    model.answer = streaming(*STREAM, before_each=stop_before_the_count)
    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            async for chunk in answer.content.iter_any():
                if b"content_block_delta" in chunk:
                    break
    await hung_up.wait()
    await runner.cleanup()
    await finished(runner)

    # 400 characters that were never counted are taken for 100 tokens.
    assert await spent(sessions, gateway_socket) == (0.015, 13_100)


async def finished(runner: web.AppRunner) -> None:
    await runner.app[PARTS].background.finish(timeout=10)


async def test_a_client_that_disconnects_before_the_first_output_pays_for_the_input(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket()
    runner = await start()
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def answer_after_the_hang_up(request: web.Request) -> web.StreamResponse:
        asked.set()
        await go_on.wait()
        return await streaming(*STREAM[:1])(request)

    model.answer = answer_after_the_hang_up
    async with gateway_socket.client() as client:
        calling = asyncio.create_task(client.post("/v1/messages", json=BODY))
        await asked.wait()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    await runner.cleanup()
    go_on.set()
    await finished(runner)

    assert (await spent(sessions, gateway_socket))[1] == 13_001


async def test_a_used_up_budget_refuses_the_next_call_with_the_remedy(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(budget_usd=0.02)
    await start()
    model.answer = streaming(*STREAM)

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            await answer.read()
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 400
            told = await answer.json()

    sentence = (
        "The budget of $0.02 for this task is used up ($0.02 spent): "
        "raise budget_usd on the ticket or project and retry the task."
    )
    assert told == error(sentence, "billing_error")
    assert await refusal(sessions, gateway_socket) == sentence
    assert len(model.asked) == 1


async def test_a_real_agent_stops_at_once_when_the_budget_is_used_up(
    open_socket: OpenSocket, start: Start, model: Host, tmp_path: Path
) -> None:
    gateway_socket = await open_socket(budget_usd=0.0)
    await start()

    async with gateway_socket.port() as base:
        messages = await _ask_agent(base, gateway_socket.token, tmp_path)

    result = next(message for message in messages if isinstance(message, ResultMessage))
    assert result.is_error
    assert "raise budget_usd on the ticket or project" in (result.result or "")
    assert not [one for one in messages if isinstance(one, SystemMessage) and one.subtype == "api_retry"]
    assert model.asked == []


async def _ask_agent(base: str, token: str, folder: Path, **more: Any) -> list[Message]:
    env = {
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_AUTH_TOKEN": token,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "CLAUDE_CODE_TMPDIR": str(folder),
    }
    client = ClaudeSDKClient(ClaudeAgentOptions(cwd=folder, env=env, setting_sources=[], **more))
    await client.connect()
    try:
        await client.query("hello")
        return [message async for message in client.receive_response()]
    finally:
        await client.disconnect()


async def test_without_a_key_the_scripted_model_plays_and_is_charged_as_sonnet(
    open_socket: OpenSocket, start: Start, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(title="Calculate the binomial coefficient", description="C(50,25)")
    await start(anthropic_api_key=None)

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 200
            assert b"tool_use" in await answer.read()

    cost, tokens = await spent(sessions, gateway_socket)
    assert cost > 0
    assert tokens > 0
    async with sessions() as session:
        sandbox = await session.get_one(Sandbox, gateway_socket.sandbox.id)
    assert sandbox.simulated_cost_usd == sandbox.cost_usd


def test_an_error_about_costs_names_the_simulated_part() -> None:
    assert "($0.02 spent)" in budget_used_up(0.01, 0.02)
    assert "($0.02 spent, simulated)" in budget_used_up(0.01, 0.02, simulated_usd=0.02)
    assert "($0.50 spent, including $0.02 simulated)" in budget_used_up(0.5, 0.5, simulated_usd=0.02)


async def test_a_task_that_no_script_covers_is_refused_without_a_retry(
    open_socket: OpenSocket, start: Start, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(title="Something else", description="entirely")
    await start(anthropic_api_key=None)

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["message"] == NO_SCRIPT

    assert await refusal(sessions, gateway_socket) == NO_SCRIPT


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_final_refusal_of_the_host_is_stored_and_no_further_call_is_sent(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions, status: int
) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = saying(status, error(f"no, not with {KEY}", "authentication_error"))

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == status
            assert (await answer.json())["error"]["message"] == f"no, not with {MASK}"
        async with client.post("/v1/messages", json=BODY) as answer:
            assert answer.status == 400

    assert await refusal(sessions, gateway_socket) == f"no, not with {MASK}"
    assert len(model.asked) == 1


async def test_a_secret_that_is_added_while_the_gateway_runs_is_masked_at_once(
    open_socket: OpenSocket, start: Start, model: Host
) -> None:
    gateway_socket = await open_socket()
    gateway = await start()
    model.answer = saying(500, error("no, not with added-at-run-time"))
    said = []

    async with gateway_socket.client() as client:
        for _ in range(2):
            async with client.post("/v1/messages", json=BODY) as answer:
                said.append((await answer.json())["error"]["message"])
            gateway.app[PARTS].masker.add(["added-at-run-time"])

    assert said == ["no, not with added-at-run-time", f"no, not with {MASK}"]


@pytest.mark.parametrize("status", [400, 429, 500, 529])
async def test_a_passing_failure_is_passed_on_for_the_agent_to_try_again(
    open_socket: OpenSocket, start: Start, model: Host, sessions: Sessions, status: int
) -> None:
    gateway_socket = await open_socket()
    await start()
    model.answer = saying(status, error("not now"), **{"retry-after": "3"})

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            assert (answer.status, answer.headers["retry-after"]) == (status, "3")
            assert await answer.json() == error("not now")

    assert await refusal(sessions, gateway_socket) is None


PICTURE = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC")

LOOK_AT_PICTURE = """
match: hello
steps:
  - {tool: Bash, input: {command: echo one}}
  - {tool: Read, input: {file_path: PICTURE}}
  - text: "looked"
"""


@pytest.mark.parametrize("name", ["claude-opus-4-6", "claude-sonnet-4-5"])
async def test_a_real_agent_works_through_the_gateway(
    open_socket: OpenSocket, start: Start, *, tmp_path: Path, name: str
) -> None:
    (tmp_path / "picture.png").write_bytes(PICTURE)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "look.yaml").write_text(LOOK_AT_PICTURE.replace("PICTURE", str(tmp_path / "picture.png")))
    gateway_socket = await open_socket(title="hello", description="look")
    await start(anthropic_api_key=None, scripts_dir=scripts)

    async with gateway_socket.port() as base:
        messages = await _ask_agent(base, gateway_socket.token, tmp_path, model=name)

    result = next(message for message in messages if isinstance(message, ResultMessage))
    assert (result.is_error, result.result) == (False, "looked")
