"""Budgets hold for parallel calls too: each call reserves what it may cost before it is sent."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web
from sqlalchemy import func, select

from omoi_os.db.base import Sessions
from omoi_os.gateway.context import PARTS
from omoi_os.gateway.model.metered.prices import PriceTable, Usage
from omoi_os.sandboxes.models import ModelReservation
from omoi_os.sandboxes.reservations import Estimate, Refused, Reserved, reserve
from tests.gateway.answers import BODY, error, saying, spent
from tests.gateway.conftest import OpenSocket, Start
from tests.gateway.places import Host

MODEL = "claude-sonnet-4-5"


async def dearest(request: web.Request) -> web.StreamResponse:
    """Use all the tokens that the request allows, and more of the input than an ordinary text has."""
    body = await request.read()
    usage = {"input_tokens": len(body) // 4, "output_tokens": json.loads(body)["max_tokens"]}
    return web.json_response({"type": "message", "model": MODEL, "usage": usage})


def question(**more: Any) -> dict[str, Any]:
    return {**BODY, "stream": False, "max_tokens": 1000, **more}


async def open_reservations(sessions: Sessions) -> int:
    async with sessions() as session:
        return (await session.execute(select(func.count()).select_from(ModelReservation))).scalar_one()


async def test_sixteen_parallel_calls_spend_no_more_than_the_budget(
    open_socket: OpenSocket, start: Start, *, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(budget_usd=0.05)
    await start()
    model.answer = dearest

    async def ask() -> int:
        async with gateway_socket.client() as client, client.post("/v1/messages", json=question()) as answer:
            await answer.read()
            return answer.status

    statuses = await asyncio.gather(*(ask() for _ in range(16)))

    cost, _ = await spent(sessions, gateway_socket)
    assert 0.04 < cost <= 0.05
    assert set(statuses) == {200, 400}
    assert await open_reservations(sessions) == 0


async def test_the_last_call_is_capped_to_what_the_budget_has_left(
    open_socket: OpenSocket, start: Start, *, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(budget_usd=0.05)
    await start()
    model.answer = dearest
    thinking = {"type": "enabled", "budget_tokens": 31_999}

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=question(max_tokens=32_000, thinking=thinking)) as answer:
            assert answer.status == 200
        async with client.post("/v1/messages", json=question()) as answer:
            assert answer.status == 400
            told = (await answer.json())["error"]["message"]

    sent = json.loads(model.asked[0].body)
    assert 3_000 < sent["max_tokens"] < 3_334
    assert 1_024 <= sent["thinking"]["budget_tokens"] < sent["max_tokens"]
    assert (await spent(sessions, gateway_socket))[0] <= 0.05
    assert told.startswith("The budget of $0.05 for this task is used up ($0.05 spent, and the next model call")


async def test_input_that_the_budget_cannot_pay_is_not_sent(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket(budget_usd=0.01)
    await start()

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=question(system="word " * 100_000)) as answer:
            assert answer.status == 400

    assert model.asked == []


async def test_an_image_is_not_counted_by_its_bytes(open_socket: OpenSocket, start: Start, model: Host) -> None:
    gateway_socket = await open_socket(budget_usd=0.1)
    await start()
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 1_000_000}
    messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=question(messages=messages)) as answer:
            assert answer.status == 200

    assert len(model.asked) == 1


@pytest.mark.parametrize("status", [200, 400, 429, 500])
async def test_a_reservation_ends_with_its_call(
    open_socket: OpenSocket, start: Start, *, model: Host, sessions: Sessions, status: int
) -> None:
    gateway_socket = await open_socket(budget_usd=1.05)
    runner = await start()
    model.answer = saying(status, error("no"))

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=question()) as answer:
            await answer.read()
    await runner.app[PARTS].background.finish(timeout=60)

    assert await open_reservations(sessions) == 0


async def test_a_reservation_holds_until_the_usage_of_a_caller_that_hung_up_is_known(
    open_socket: OpenSocket, start: Start, *, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(budget_usd=0.02)
    runner = await start()
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def answer_late(request: web.Request) -> web.StreamResponse:
        asked.set()
        await go_on.wait()
        return await dearest(request)

    model.answer = answer_late
    async with gateway_socket.client() as client:
        calling = asyncio.create_task(client.post("/v1/messages", json=question()))
        await asked.wait()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert await open_reservations(sessions) == 1
        go_on.set()
        await runner.app[PARTS].background.finish(timeout=60)

    assert await open_reservations(sessions) == 0
    assert (await spent(sessions, gateway_socket))[0] >= PriceTable.load({}).cost_usd(MODEL, Usage(output_tokens=1000))


async def test_the_reservation_of_a_gateway_that_crashed_expires(
    open_socket: OpenSocket, start: Start, *, model: Host, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(budget_usd=0.05)
    await start()
    async with sessions.begin() as session:
        gone = datetime.now(UTC) - timedelta(seconds=1)
        session.add(
            ModelReservation(
                id=uuid4(), task_id=gateway_socket.task.id, gateway_id=uuid4(), amount_usd=0.05, expires_at=gone
            )
        )

    async with gateway_socket.client() as client:
        async with client.post("/v1/messages", json=question()) as answer:
            assert answer.status == 200

    assert len(model.asked) == 1


async def test_gateways_that_reserve_at_once_do_not_reserve_the_same_money(
    open_socket: OpenSocket, sessions: Sessions
) -> None:
    gateway_socket = await open_socket(budget_usd=1.05)
    estimate = Estimate(input_usd=0.1, usual_input_usd=0.1, output_token_usd=0.0001, max_tokens=1000, min_tokens=100)

    async def reserve_one() -> object:
        async with sessions.begin() as session:
            return await reserve(session, gateway_socket.sandbox.id, estimate, gateway_id=uuid4())

    outcomes = await asyncio.gather(*(reserve_one() for _ in range(16)))

    assert sum(isinstance(outcome, Reserved) for outcome in outcomes) == 5
    assert not any(isinstance(outcome, Refused) for outcome in outcomes)
    assert await open_reservations(sessions) == 5


@pytest.mark.parametrize(("budget_usd", "allowed"), [(0.15, True), (0.05, False)])
async def test_output_that_costs_nothing_is_limited_by_the_price_of_the_input_alone(
    open_socket: OpenSocket, sessions: Sessions, *, budget_usd: float, allowed: bool
) -> None:
    gateway_socket = await open_socket(budget_usd=budget_usd)
    estimate = Estimate(input_usd=0.2, usual_input_usd=0.1, output_token_usd=0, max_tokens=1000, min_tokens=100)

    async with sessions.begin() as session:
        outcome = await reserve(session, gateway_socket.sandbox.id, estimate, gateway_id=uuid4())

    assert isinstance(outcome, Reserved) is allowed
