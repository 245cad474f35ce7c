"""Errors of the gateway read like those of the API."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from omoi_os.errors import DatabaseUnavailable
from omoi_os.gateway.problems import answer_errors


@pytest.mark.parametrize("error", [OperationalError("SELECT 1", {}, OSError("gone")), PoolTimeoutError("no room")])
async def test_a_database_that_is_away_is_a_503_with_the_sentence_of_the_api(error: Exception) -> None:
    async def fail(_request: web.Request) -> web.Response:
        raise error

    app = web.Application(middlewares=[answer_errors])
    app.router.add_get("/api", fail)
    app.router.add_get("/v1/messages", fail)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get("/api")
        found = await answer.json()
        model_answer = await client.get("/v1/messages")
        model_error = (await model_answer.json())["error"]

    assert (answer.status, found["code"], found["detail"]) == (503, "not_ready", str(DatabaseUnavailable()))
    assert (model_answer.status, model_error["message"]) == (503, str(DatabaseUnavailable()))
