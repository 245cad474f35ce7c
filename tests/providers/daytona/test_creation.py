"""Creations whose answer is lost, that fail half-way or are cancelled: adopted or destroyed, never leaked."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers.daytona.params import Account, Source
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.conftest import MakeSpec
from tests.providers.daytona.conftest import RUNTIME, SOON
from tests.providers.daytona.server import API_KEY, GIBIBYTE, FakeDaytona, Fault


@pytest.mark.parametrize("answer", [504, "drop"])
async def test_a_sandbox_whose_creation_got_no_answer_is_adopted(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona, answer: int | str
) -> None:
    server.faults.append(Fault("POST", "^/api/sandbox$", answer, after=True))
    spec = make_spec(["true"])

    ref = await provider.create(spec)

    assert ref == spec.id
    assert (await provider.inspect(ref, wait=SOON)).exit_code == 0
    assert server.requests.count("POST /api/sandbox") == 1


async def test_a_creation_that_was_never_served_is_reported_as_unavailable(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    server.faults.append(Fault("POST", "^/api/sandbox$", 503))

    with pytest.raises(ProviderUnavailable):
        await provider.create(make_spec())

    assert server.records == {}


@pytest.mark.parametrize("path", ["/process/execute", "/files/bulk-upload", "/process/session$", "/exec$"])
async def test_a_creation_that_fails_half_way_leaves_no_sandbox(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona, path: str
) -> None:
    server.faults.append(Fault("POST", path, 500))

    with pytest.raises(ProviderUnavailable):
        await provider.create(make_spec())

    assert server.records == {}


@pytest.mark.parametrize("reached", ["POST /api/sandbox", "POST /toolbox"])
async def test_a_cancelled_creation_leaves_nothing(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona, reached: str
) -> None:
    making = asyncio.create_task(provider.create(make_spec()))
    await server.reached(reached)

    making.cancel()
    await asyncio.gather(making, return_exceptions=True)

    assert making.cancelled()
    assert server.records == {}


async def test_an_id_that_exists_is_refused_and_left_alone(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    spec = make_spec()
    ref = await provider.create(spec)

    with pytest.raises(ProviderError, match="already exists"):
        await provider.create(spec)

    assert (await provider.inspect(ref)).alive


@pytest.fixture
async def building(server: FakeDaytona) -> AsyncIterator[DaytonaProvider]:
    source = Source(snapshot=None, image="registry.example/omoi:1")
    account = Account(API_KEY, server.url, "eu")
    made = DaytonaProvider(account, callback_url="http://127.0.0.1:1", source=source, runtime=RUNTIME)
    yield made
    await made.close()


async def test_an_image_is_built_with_its_progress_shown_and_its_limits_set(
    building: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.builds = True

    ref = await building.create(make_spec())

    record = server.named(ref)
    assert (record.memory, record.cpu, record.disk, record.asked["target"]) == (1, 1, 1, "eu")
    assert (await building.inspect(ref)).alive
    assert any("Step 1/1 : FROM registry.example/omoi:1" in message for message in caplog.messages)
    limit = await building.exec(ref, ["python3", "-c", f"x = bytearray({2 * GIBIBYTE})"], timeout=SOON)
    assert limit.exit_code != 0
