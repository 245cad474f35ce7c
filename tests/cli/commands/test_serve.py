"""`omoi serve` as a process: start, stop, and recovery after a kill."""

import asyncio
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from omoi_os.db import embedded, postmaster


@pytest.fixture
async def data_dir(prepared: Path) -> AsyncIterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    shutil.copytree(prepared, folder, dirs_exist_ok=True)
    yield folder
    await embedded.stop(folder)
    shutil.rmtree(folder)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
    return number


class Serving:
    """A running `omoi serve` and what it prints."""

    def __init__(self, process: asyncio.subprocess.Process, output: asyncio.StreamReader) -> None:
        self.process = process
        self.output = output

    async def line(self, beginning: str) -> str:
        """Return the next line with this prefix; skip the lines before it."""
        seen = []
        async with asyncio.timeout(60):
            while text := (await self.output.readline()).decode():
                seen.append(text)
                if text.startswith(beginning):
                    return text
        raise AssertionError("".join(seen))

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), 60)

    def children(self) -> dict[str, int]:
        """Return the processes by name."""
        found = {}
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if "omoi_os" in command:
                found[command[command.index("omoi_os") + 1]] = int(pid)
        return found


@asynccontextmanager
async def serve(data_dir: Path, port: int, *, terminal: int | None = None, **environ: str) -> AsyncIterator[Serving]:
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-P", "-m", "omoi_os", "serve", "--data-dir", str(data_dir), "--port", str(port)],
        env={"PATH": os.environ["PATH"], "HOME": str(data_dir), **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE if terminal is None else terminal,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = process.stdout or asyncio.StreamReader()
    try:
        yield Serving(process, output)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait() if process.stdout is None else await process.stdout.read()
        await process.wait()


@asynccontextmanager
async def serve_on_terminal(data_dir: Path, port: int) -> AsyncIterator[Serving]:
    """The same with a terminal to print to."""
    screen, terminal = pty.openpty()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(screen, "rb", buffering=0)
    )
    try:
        async with serve(data_dir, port, terminal=terminal, ORCHESTRATOR_ENABLED="false") as serving:
            serving.output = reader
            yield serving
    finally:
        os.close(terminal)
        transport.close()


async def test_it_prints_its_address_and_stops_every_process_when_stopped(data_dir: Path, port: int) -> None:
    async with serve(data_dir, port) as serving:
        await serving.line(f"OmoiOS is ready at http://127.0.0.1:{port}")
        assert "http" not in await serving.line("  sign in ")
        parts = serving.children()
        assert set(parts) == {"api", "gateway", "orchestrator"}
        assert (data_dir / "admin-token").stat().st_mode & 0o777 == 0o600
        assert data_dir.stat().st_mode & 0o777 == 0o700

        serving.process.terminate()

        assert await serving.ended() == 0
        assert not [pid for pid in parts.values() if Path(f"/proc/{pid}").exists()]
        assert not embedded.running(data_dir)


async def test_on_a_terminal_it_prints_a_link_that_signs_in_once(data_dir: Path, port: int) -> None:
    async with serve_on_terminal(data_dir, port) as serving:
        link = (await serving.line("  sign in ")).split()[2]
        async with httpx.AsyncClient(trust_env=False) as browser:
            opened = [(await browser.get(link)).status_code for _ in range(2)]
            me = (await browser.get(f"http://127.0.0.1:{port}/api/v1/auth/me")).json()
        assert (opened, me["role"]) == ([303, 403], "admin")


async def test_a_second_one_in_the_same_folder_and_one_on_the_same_port_are_refused(data_dir: Path, port: int) -> None:
    async with serve(data_dir, port, ORCHESTRATOR_ENABLED="false") as first:
        await first.line("OmoiOS is ready")
        assert set(first.children()) == {"api", "gateway"}

        async with serve(data_dir, port) as second:
            assert f"process {first.process.pid}" in await second.line("omoi: another `omoi serve`")
            assert await second.ended() == 1
        async with serve(data_dir / "other", port) as third:
            assert f"OMOI_PORT={port + 1}" in await third.line(f"omoi: port {port} on 127.0.0.1 is in use")
            assert await third.ended() == 1


async def test_after_a_kill_the_platform_starts_again(data_dir: Path, port: int) -> None:
    async with serve(data_dir, port) as killed:
        await killed.line("OmoiOS is ready")
        parts = killed.children()
        killed.process.kill()
        await killed.ended()
        for pid in parts.values():
            await asyncio.wait_for(postmaster.process_end(pid), 10)
    database = postmaster.find(data_dir / "postgres" / "data")
    assert database is not None

    async with serve(data_dir, port) as again:
        await again.line("OmoiOS is ready")

        assert postmaster.find(data_dir / "postgres" / "data") == database


async def test_a_part_and_the_database_start_again_when_they_are_killed(data_dir: Path, port: int) -> None:
    async with serve(data_dir, port, ORCHESTRATOR_ENABLED="false") as serving:
        await serving.line("OmoiOS is ready")
        database = postmaster.find(data_dir / "postgres" / "data")
        assert database is not None

        os.kill(serving.children()["api"], signal.SIGKILL)
        await serving.line("The api ended unexpectedly (killed by signal 9)")
        os.kill(database, signal.SIGKILL)
        await serving.line("The database ended unexpectedly")

        await until_ready(port)


async def until_ready(port: int) -> None:
    """Poll the API until it is ready: nothing else shows it."""
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        while True:
            try:
                if (await client.get("/ready")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


async def test_a_second_signal_stops_at_once(data_dir: Path, port: int) -> None:
    async with serve(data_dir, port) as serving:
        await serving.line("OmoiOS is ready")
        # Stopped like this, the API cannot answer the first signal.
        os.kill(serving.children()["api"], signal.SIGSTOP)

        serving.process.send_signal(signal.SIGINT)
        await serving.line("Stopping:")
        serving.process.send_signal(signal.SIGINT)

        assert await asyncio.wait_for(serving.process.wait(), 10) == 130
        assert not embedded.running(data_dir)


async def test_an_interrupt_saves_the_work_before_it_reports_how_saving_went(data_dir: Path, port: int) -> None:
    scripts = data_dir / "scripts"
    scripts.mkdir()
    (scripts / "slow.yaml").write_text(
        "match: slow\n"
        "steps:\n"
        "  - {tool: Write, input: {file_path: half.py, content: '1'}}\n"
        "  - {tool: Bash, input: {command: sleep 600}}\n"
    )
    async with serve(data_dir, port, OMOI_SCRIPTS_DIR=str(scripts)) as serving:
        await serving.line("OmoiOS is ready")
        await until_the_agent_sleeps(port, token=(data_dir / "admin-token").read_text().strip())

        serving.process.send_signal(signal.SIGINT)
        await serving.line("Stopping:")
        log = (await asyncio.wait_for(serving.output.read(), 90)).decode()

    assert len(wip_branches(data_dir)) == 1
    assert not re.search(r"could not be saved|not saved|WARNING|ERROR", log), log


def wip_branches(data_dir: Path) -> list[str]:
    """Return the branches that hold salvaged work."""
    (repository,) = [path for path in (data_dir / "repos").iterdir() if path.suffix == ".git"]
    command = ["git", "-C", str(repository), "for-each-ref", "--format=%(refname)", "refs/heads/wip"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


async def until_the_agent_sleeps(port: int, *, token: str) -> None:
    """Create a ticket and wait until its agent runs its second tool."""
    headers = {"Authorization": f"Bearer {token}"}
    url = f"http://127.0.0.1:{port}/api/v1"
    async with asyncio.timeout(90), httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
        project = (await client.post("/projects", json={"name": "p"})).json()
        await client.post("/tickets", json={"title": "slow", "project_id": project["id"]})
        while True:
            for sandbox in (await client.get("/sandboxes")).json()["items"]:
                if sandbox["event_counts"].get("agent.tool_use", 0) >= 2:
                    return
            await asyncio.sleep(0.1)
