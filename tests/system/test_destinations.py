"""Destinations that people name: what is refused, next to what is allowed."""

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from omoi_os.errors import DestinationRefused
from omoi_os.system.destinations import CheckedResolver, check_host, check_url, checked_connector, resolve


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1",
        "https://127.1",
        "https://2130706433",
        "https://0x7f000001",
        "https://0x7f.0.0.1",
        "https://0177.0.0.1",
        "https://0",
        "https://0.0.0.0",
        "https://10.1.2.3",
        "https://172.16.0.1",
        "https://192.168.1.1",
        "https://100.64.0.1",
        "https://169.254.169.254/latest",
        "https://198.18.0.1",
        "https://224.0.0.1",
        "https://255.255.255.255",
        "https://[::1]",
        "https://[::]",
        "https://[::ffff:127.0.0.1]",
        "https://[::ffff:169.254.169.254]",
        "https://[::127.0.0.1]",
        "https://[64:ff9b::7f00:1]",
        "https://[2002:7f00:1::]",
        "https://[fe80::1]",
        "https://[fe80::1%25eth0]",
        "https://[fec0::1]",
        "https://[fd00::1]",
        "https://[ff02::1]",
    ],
)
def test_an_address_that_is_not_public_is_refused_in_every_form(url: str) -> None:
    with pytest.raises(DestinationRefused):
        check_url(url, private=())


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.org",
        "ftp://api.example.org",
        "api.example.org",
        "https://",
        "https://user@api.example.org",
        "https://user:word@api.example.org",
        "https://api.example.org#@127.0.0.1",
        "https://api.example.org?x=1",
        "https://api.example.org/../v1",
        "https://api.example.org/%2e%2e",
        "https://api.example.org\\@127.0.0.1/",
        "https://api.example.org:99999",
        "https://api example.org",
        "https://\uff11\uff12\uff17.0.0.1",
        "https://ⓔxample.org",
        "https://api..example.org",
        "https://-x.example.org",
        "https://[v1.x]",
    ],
)
def test_a_url_that_programs_read_differently_is_refused(url: str) -> None:
    with pytest.raises(DestinationRefused):
        check_url(url, private=())


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://api.z.ai/api/anthropic", "https://api.z.ai/api/anthropic"),
        ("https://API.example.org/", "https://api.example.org"),
        ("https://api.example.org:8443/v2/", "https://api.example.org:8443/v2"),
        ("https://8.8.8.8", "https://8.8.8.8"),
        ("https://[2606:4700::1111]:444", "https://[2606:4700::1111]:444"),
    ],
)
def test_a_public_url_is_returned_in_canonical_form(url: str, canonical: str) -> None:
    assert check_url(url, private=()) == canonical


def test_a_host_that_the_operator_named_may_be_private_and_without_tls() -> None:
    named = ("10.1.2.3", "models.internal")

    assert check_url("http://10.1.2.3:8080", private=named) == "http://10.1.2.3:8080"
    assert check_url("http://models.internal", private=named) == "http://models.internal"
    assert check_host("127.0.0.1", private=("127.0.0.1",)) == "127.0.0.1"
    for other in ("http://10.1.2.4", "http://sub.models.internal"):
        with pytest.raises(DestinationRefused):
            check_url(other, private=named)


@pytest.mark.parametrize("host", ["169.254.169.254", "0.0.0.0", "ff02::1"])
def test_link_local_addresses_are_refused_even_if_named(host: str) -> None:
    with pytest.raises(DestinationRefused):
        check_host(host, private=(host,))


class Names:
    """A name server that a test controls."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def getaddrinfo(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        self.asked.append(host)
        turns = self.answers[host.partition(".")[0]]
        found = turns.pop(0) if len(turns) > 1 else turns[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]


async def test_a_name_is_resolved_once_and_all_its_addresses_must_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names(public=[["8.8.8.8", "8.8.4.4"]], mixed=[["8.8.8.8", "10.0.0.1"]], inside=[["127.0.0.1"]])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names.getaddrinfo)

    assert await resolve("public.example.org", 443, private=()) == ("8.8.8.8", "8.8.4.4")
    for refused in ("mixed.example.org", "inside.example.org"):
        with pytest.raises(DestinationRefused):
            await resolve(refused, 443, private=())
    assert await resolve("inside.example.org", 443, private=("inside.example.org",)) == ("127.0.0.1",)
    assert len(names.asked) == 4


@pytest.fixture
async def server() -> AsyncIterator[int]:
    """The port of a service on loopback."""
    app = web.Application()

    async def hello(_request: web.Request) -> web.Response:
        return web.Response(text="inside")

    app.router.add_get("/", hello)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def test_a_name_that_changes_its_address_is_not_followed_inside(
    server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Public when it is checked, loopback when it is dialed.
    names = Names(rebinding=[["8.8.8.8"], ["127.0.0.1"]])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names.getaddrinfo)
    assert await resolve("rebinding.example.org", server, private=()) == ("8.8.8.8",)

    async with aiohttp.ClientSession(connector=checked_connector(())) as http:
        with pytest.raises(aiohttp.ClientConnectorError, match="not a public address"):
            await http.get(f"http://rebinding.example.org:{server}/")


async def test_a_named_host_is_dialed_at_exactly_the_checked_address(
    server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names(inside=[["127.0.0.1"], ["8.8.8.8"]])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", names.getaddrinfo)

    async with aiohttp.ClientSession(connector=checked_connector(("inside.example.org",))) as http:
        async with http.get(f"http://inside.example.org:{server}/") as answer:
            assert await answer.text() == "inside"

    assert names.asked == ["inside.example.org"]


async def test_the_resolver_reports_a_refusal_as_aiohttp_expects() -> None:
    with pytest.raises(OSError, match="OMOI_EGRESS_PRIVATE"):
        await CheckedResolver(()).resolve("localhost", 443)
