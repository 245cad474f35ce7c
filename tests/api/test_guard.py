"""What holds for every answer."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.api.app import make_app
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import load_settings
from omoi_os.db.base import Sessions
from tests.api.conftest import calling


async def answers(app: FastAPI, host: str) -> int:
    async with calling(app, base="http://omoi") as client:
        return (await client.get("/health", headers={"Host": host})).status_code


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8080", "127.0.0.1:18000", "127.0.0.7", "[::1]:18000", "OMOI", "omoi:1"]
)
async def test_a_server_of_this_machine_answers_to_its_own_names(app: FastAPI, host: str) -> None:
    assert await answers(app, host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "", "["]
)
async def test_a_name_that_was_made_to_lead_here_is_refused(app: FastAPI, host: str) -> None:
    assert await answers(app, host) == 421


async def test_a_server_of_the_network_answers_to_any_name(sessions: Sessions, short_tmp: Path) -> None:
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp, host="0.0.0.0")

    assert await answers(make_app(settings, sessions, MemoryBus()), "omoi.example") == 200


async def test_the_address_that_the_gateway_uses_is_one_of_the_names(sessions: Sessions, short_tmp: Path) -> None:
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp, api_url="http://Api.internal:1")

    assert await answers(make_app(settings, sessions, MemoryBus()), "api.internal:1") == 200


async def test_the_address_that_people_use_is_one_of_the_names(sessions: Sessions, short_tmp: Path) -> None:
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp, public_url="https://Omoi.example")

    assert await answers(make_app(settings, sessions, MemoryBus()), "omoi.example") == 200


async def test_no_answer_may_be_taken_for_something_else_or_read_by_another_site(
    ada: httpx.AsyncClient, app: FastAPI
) -> None:
    async with calling(app, base="http://omoi") as root:
        found = [await ada.get("/projects"), await ada.get("/nothing"), await root.get("/health")]
    for answer in found:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control-")]
