"""Errors of Daytona as errors of the provider contract."""

import pytest

from omoi_os.errors import ProviderError, ProviderUnavailable, SandboxGone
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.daytona.params import Account
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.conftest import MakeSpec
from tests.providers.daytona.conftest import RUNTIME, SOON, WAITS
from tests.providers.daytona.server import FakeDaytona, Fault

NAME = SandboxRef("omoios-test")


@pytest.mark.parametrize("answer", [429, 500, 502, 503])
async def test_a_temporary_failure_is_reported_as_unavailable(
    provider: DaytonaProvider, server: FakeDaytona, answer: int
) -> None:
    server.faults.append(Fault("GET", "/api/sandbox", answer, times=20))

    with pytest.raises(ProviderUnavailable, match="does not serve"):
        await provider.inspect(NAME)
    with pytest.raises(ProviderUnavailable):
        await provider.destroy(NAME)
    with pytest.raises(ProviderUnavailable):
        [listed.ref async for listed in provider.list(owner="tests")]


async def test_an_unreachable_server_is_unavailable(make_spec: MakeSpec) -> None:
    account = Account("key", "http://127.0.0.1:9/api")
    provider = DaytonaProvider(account, callback_url="http://127.0.0.1:1", waits=WAITS)
    try:
        with pytest.raises(ProviderUnavailable):
            await provider.inspect(NAME)
        with pytest.raises(ProviderUnavailable):
            await provider.create(make_spec())
    finally:
        await provider.close()


async def test_a_connection_that_breaks_is_unavailable(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    ref = await provider.create(make_spec())
    server.faults.append(Fault("POST", "/process/execute", "drop"))

    with pytest.raises(ProviderUnavailable):
        await provider.exec(ref, ["true"], timeout=SOON)


async def test_a_sandbox_that_never_existed_is_gone(provider: DaytonaProvider) -> None:
    with pytest.raises(SandboxGone):
        await provider.inspect(NAME)
    await provider.destroy(NAME)


async def test_a_bad_key_is_reported_without_showing_it(server: FakeDaytona, make_spec: MakeSpec) -> None:
    account = Account("dtn_secret", server.url)
    provider = DaytonaProvider(account, callback_url="http://127.0.0.1:1", runtime=RUNTIME)
    try:
        with pytest.raises(ProviderError, match="check DAYTONA_API_KEY") as caught:
            await provider.create(make_spec())
    finally:
        await provider.close()

    assert not isinstance(caught.value, ProviderUnavailable | SandboxGone)
    assert "dtn_secret" not in f"{caught.value} {account!r}"


async def test_the_end_is_reported_even_if_the_log_stream_fails(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "sleep 1; exit 4"]))
    server.faults.append(Fault("GET", "/logs$", 500, times=100))

    assert (await provider.inspect(ref, wait=SOON)).exit_code == 4
