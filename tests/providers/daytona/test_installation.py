"""The worker is installed from the package index if the snapshot does not include it."""

import io
import logging
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path

import pytest
from aiohttp import web

from omoi_os.errors import ProviderError
from omoi_os.providers.base import Runtime
from omoi_os.providers.daytona.params import Account, Source
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.conftest import MakeSpec
from tests.providers.daytona.conftest import RUNTIME, SOON, WAITS
from tests.providers.daytona.records import Age
from tests.providers.daytona.server import API_KEY, FakeDaytona

MakeProvider = Callable[..., DaytonaProvider]

#: A place where sandboxes have nothing yet.
MISSING = Runtime("/home/agent/runtime/bin/python", "/home/agent/runtime/site")
VERSION = version("claude-agent-sdk")
WHEEL = f"claude_agent_sdk-{VERSION}-py3-none-any.whl"


def a_wheel() -> bytes:
    """A package of the agent's SDK's name and version, with nothing in it."""
    info = f"claude_agent_sdk-{VERSION}.dist-info"
    files = {
        "claude_agent_sdk/__init__.py": "HERE = True\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: claude-agent-sdk\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


@pytest.fixture
async def index() -> AsyncIterator[int]:
    """The port of a package index that has just this one package."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text=f'<a href="/{WHEEL}">{WHEEL}</a>', content_type="text/html")

    async def wheel(_: web.Request) -> web.Response:
        return web.Response(body=a_wheel())

    app = web.Application()
    app.add_routes([web.get("/simple/claude-agent-sdk/", page), web.get(f"/{WHEEL}", wheel)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def server(tmp_path: Path, index: int) -> AsyncIterator[FakeDaytona]:
    async with FakeDaytona(tmp_path, Age.OLD, gateway_port=index) as started:
        yield started


@pytest.fixture
async def make_provider(server: FakeDaytona, index: int) -> AsyncIterator[MakeProvider]:
    """Providers whose packages come from a folder of that index."""
    async with AsyncExitStack() as stack:

        def make(*, folder: str = "simple", runtime: Runtime = MISSING) -> DaytonaProvider:
            gateway = f"http://127.0.0.1:{index}"
            source = Source(snapshot=None, package_index=f"{gateway}/{folder}/")
            made = DaytonaProvider(
                Account(API_KEY, server.url), callback_url=gateway, source=source, runtime=runtime, waits=WAITS
            )
            stack.push_async_callback(made.close)
            return made

        yield make


async def test_our_program_and_its_packages_are_installed_with_progress_shown(
    make_provider: MakeProvider, make_spec: MakeSpec, caplog: pytest.LogCaptureFixture
) -> None:
    provider = make_provider()
    caplog.set_level(logging.INFO)
    code = "import claude_agent_sdk, omoi_os.protocol.paths as paths; print(claude_agent_sdk.HERE, paths.WORKSPACE)"

    ref = await provider.create(make_spec())

    env_code = f"import sys; sys.path.insert(0, {MISSING.source!r}); {code}"
    result = await provider.exec(ref, [MISSING.python, "-c", env_code], timeout=SOON)
    assert result.stdout == b"True /workspace\n", result.stderr
    assert any("installing it" in message for message in caplog.messages)
    assert any(f"Successfully installed claude-agent-sdk-{VERSION}" in message for message in caplog.messages)


async def test_an_index_that_lacks_a_package_fails_the_creation(
    make_provider: MakeProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    with pytest.raises(ProviderError, match=r"could not be installed.* No matching distribution"):
        await make_provider(folder="empty").create(make_spec())

    assert server.records == {}


async def test_a_sandbox_reaches_the_gateway_at_its_own_address_and_nothing_else(
    make_provider: MakeProvider, make_spec: MakeSpec, index: int
) -> None:
    provider = make_provider(runtime=RUNTIME)
    ref = await provider.create(make_spec())
    code = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).status)"

    reached = await provider.exec(
        ref, ["python3", "-c", code, f"http://127.0.0.1:{index}/simple/claude-agent-sdk/"], timeout=SOON
    )
    elsewhere = await provider.exec(ref, ["python3", "-c", code, "http://127.0.0.1:1/"], timeout=SOON)

    assert (reached.stdout, elsewhere.exit_code) == (b"200\n", 1)
