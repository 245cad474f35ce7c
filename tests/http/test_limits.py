"""How large a body may be."""

import hashlib
from collections.abc import AsyncIterator

import httpx
import pytest

from omoi_os.http.limits import BATCH_LIMIT, BLOB_LIMIT, DEFAULT_LIMIT, TRANSCRIPT_LIMIT, limit_for
from tests.api.conftest import Worker

MIB = 1024 * 1024


async def chunks(size: int) -> AsyncIterator[bytes]:
    """A body without a declared length."""
    for _ in range(size // MIB):
        yield b"x" * MIB


async def test_an_event_of_ten_megabytes_is_too_large(worker: Worker) -> None:
    body = {"event_type": "agent.message", "event_data": {"text": "x" * 10_000_000}}
    for rest, sent in (("/events", body), ("/events/batch", {"events": [body]})):
        answer = await worker.client.post(worker.path(rest), json=sent)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("rest", ["/events", "/events/batch", "/blobs/" + "0" * 64, "/transcript?session_id=s"])
async def test_a_chunked_body_is_cut_off_at_its_limit(worker: Worker, rest: str) -> None:
    method = "POST" if rest.startswith("/events") else "PUT"
    headers = {"Content-Type": "application/json"}
    answer = await worker.client.request(method, worker.path(rest), content=chunks(66 * MIB), headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_no_more_than_the_limit_is_ever_taken_in(ada: httpx.AsyncClient) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 65536
            yield b" " * 65536

    answer = await ada.post("/projects", content=endless(), headers={"Content-Type": "application/json"})

    assert answer.status_code == 413
    assert taken <= DEFAULT_LIMIT + 65536


async def test_a_declared_length_is_judged_before_anything_is_read(ada: httpx.AsyncClient) -> None:
    async def unread() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    for declared in (str(DEFAULT_LIMIT + 1), "9" * 30, "-1", "x"):
        headers = {"Content-Length": declared, "Content-Type": "application/json"}
        assert (await ada.post("/projects", content=unread(), headers=headers)).status_code == 413


async def test_a_batch_may_be_larger_than_one_event(worker: Worker) -> None:
    event = {"event_type": "agent.message", "event_data": {"text": "x" * 900_000}}
    answer = await worker.client.post(worker.path("/events/batch"), json={"events": [event] * 4})

    assert (answer.status_code, answer.json()["accepted"]) == (200, 4)


async def test_a_blob_may_be_larger_than_a_batch(worker: Worker) -> None:
    content = b"x" * (BATCH_LIMIT + MIB)
    path = worker.path(f"/blobs/{hashlib.sha256(content).hexdigest()}")

    assert (await worker.client.put(path, content=content)).status_code == 200


def test_each_place_has_its_limit() -> None:
    place = "/api/v1/sandboxes/omoios-1-2"
    assert limit_for("POST", f"{place}/events") == DEFAULT_LIMIT
    assert limit_for("POST", f"{place}/events/batch") == BATCH_LIMIT
    assert limit_for("PUT", f"{place}/blobs/{'0' * 64}") == BLOB_LIMIT
    assert limit_for("PUT", f"{place}/transcript") == TRANSCRIPT_LIMIT
    assert limit_for("POST", f"{place}/transcript") == DEFAULT_LIMIT
    assert limit_for("PUT", f"/api/v1/tickets/x{place}/transcript") == DEFAULT_LIMIT
