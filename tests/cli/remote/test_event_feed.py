"""Following a sandbox across broken connections."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from omoi_os.bus.memory import MemoryBus
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.event_feed import follow, parse
from omoi_os.errors import OmoiError
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import SandboxState
from tests.api_process import Reporter
from tests.cli.conftest import Desk
from tests.conftest import NOON, sessions_on

EVENT = {"seq": 1, "event_type": "agent.message", "event_data": {"text": "é"}}
STREAM = f": still here\n\nid: 1\ndata: {json.dumps(EVENT, ensure_ascii=False)}\n\nid: 2\ndata: {{".encode()


def pieces(size: int) -> Iterator[bytes]:
    return (STREAM[start : start + size] for start in range(0, len(STREAM), size))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_are_parsed_from_any_chunks_and_an_incomplete_one_is_ignored(size: int) -> None:
    assert list(parse(pieces(size))) == [EVENT]


@pytest.mark.parametrize("line", [b"data: <html>\n", b"data: 1\n", b"data: {}\n", b"data: \xff\n"])
def test_a_line_that_is_not_an_event_is_reported(line: bytes) -> None:
    with pytest.raises(OmoiError, match="not a stream of events"):
        list(parse(iter([line])))


class Closing(BaseHTTPRequestHandler):
    """Sends one more event at each call and closes cleanly; the third call is the last."""

    asked: list[str] = []

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        streams = [each for each in Closing.asked if each.startswith("since=")]
        if path.endswith("/stream"):
            Closing.asked.append(query)
            self.answer(f"data: {json.dumps(EVENT | {'seq': len(streams) + 1})}\n\n".encode())
        elif path.endswith("/task"):
            status = "verifying" if len(streams) < 3 else "completed"
            self.answer(json.dumps({"sandbox_id": "box", "status": status}).encode())
        else:
            status = "running" if len(streams) < 2 else "stopped"
            self.answer(json.dumps({"status": status, "last_seq": len(streams), "pruned_at": None}).encode())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output clean."""


def test_a_closed_stream_is_resumed_until_the_sandbox_has_ended_and_is_verified() -> None:
    Closing.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Closing) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        with Client(f"http://127.0.0.1:{server.server_port}", "omoi_x", patience=1) as client:
            heard = [event["seq"] for event in follow(client, "box")]
        server.shutdown()
        thread.join()

    assert heard == [1, 2, 3]
    assert Closing.asked == ["since=0", "since=1", "since=2"]


def test_a_server_that_shuts_down_is_not_mistaken_for_the_end_of_the_sandbox(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)
    with desk.start("events", reporter.id, "--follow", "--json") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert desk.api.process is not None
        desk.api.process.terminate()
        desk.api.process.wait(30)
        asyncio.run(desk.api.start())
        desk.post(reporter, ("agent.message", {"text": "back again"}))
        second = process.stdout.readline()
        asyncio.run(end(desk, reporter))
        rest, complaint = process.communicate(timeout=60)

    assert (process.returncode, complaint) == (0, "")
    assert [json.loads(line)["event_type"] for line in (first, second, *rest.splitlines())] == [
        "sandbox.created",
        "agent.message",
        "sandbox.terminated",
    ]


async def end(desk: Desk, reporter: Reporter) -> None:
    async with sessions_on(desk.database_url) as sessions, sessions.begin() as session:
        row = await repository.lock(session, reporter.id)
        await service.end(session, MemoryBus(), row, state=SandboxState.STOPPED, reason="test", now=NOON)
