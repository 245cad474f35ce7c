"""The client of the public API, against small real HTTP servers."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from omoi_os.cli.remote.client import Client
from omoi_os.errors import BadToken, NotReady, OmoiError


class Answers(BaseHTTPRequestHandler):
    """Answers by path and records the requests."""

    asked: list[tuple[str, str, str | None]] = []
    refusals = 0

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        Answers.asked.append((self.command, self.path, self.headers["Idempotency-Key"]))
        if path == "/busy-once" and Answers.refusals == 0:
            Answers.refusals = 1
            self.answer(503, b"{}")
        elif path == "/list":
            second = "cursor=next" in query
            page = {"items": [{"n": 2 if second else 1}], "next_cursor": None if second else "next"}
            self.answer(200, json.dumps(page).encode())
        elif path == "/wrong":
            self.answer(422, b'{"title": "Unprocessable", "detail": "title must not be empty"}')
        elif path == "/secret":
            self.answer(401, b"{}")
        elif path == "/page":
            self.answer(200, b"<html>")
        else:
            self.answer(200, b"{}")

    def do_POST(self) -> None:
        self.do_GET()

    def answer(self, status: int, body: bytes) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the tests' output clean."""


@pytest.fixture
def url() -> Iterator[str]:
    Answers.asked, Answers.refusals = [], 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.02])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_every_page_of_a_list_is_read(url: str) -> None:
    with Client(url, "omoi_x") as client:
        assert [item["n"] for item in client.items("/list", limit=1)] == [1, 2]


def test_a_repeated_creation_carries_the_same_key(url: str) -> None:
    with Client(url, "omoi_x") as client:
        client.post("/busy-once", {"title": "one"})

    (_, _, first), (_, _, second) = Answers.asked
    assert first == second
    assert first


def test_the_reason_of_a_refusal_is_passed_on(url: str) -> None:
    with Client(url, "omoi_x") as client, pytest.raises(OmoiError, match="422: title must not be empty"):
        client.post("/wrong", {})


def test_a_refused_token_is_reported_without_showing_it(url: str) -> None:
    with Client(url, "omoi_hush") as client, pytest.raises(BadToken) as caught:
        client.get("/secret")

    assert "hush" not in str(caught.value)


def test_another_program_on_the_port_is_not_mistaken_for_the_platform(url: str) -> None:
    with Client(url, "omoi_x") as client, pytest.raises(OmoiError, match="is not an OmoiOS API"):
        client.get("/page")


def test_an_unreachable_platform_is_reported_with_the_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        number = gone.getsockname()[1]
    with Client(f"http://127.0.0.1:{number}", "omoi_x", patience=0) as client:
        with pytest.raises(NotReady, match="omoi serve"):
            client.get("/health")


def test_a_proxy_named_in_the_environment_is_not_asked_for_this_machine(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    with Client(url, "omoi_x", patience=0) as client:
        assert client.get("/health") == {}
