"""Attacks on the event routes, over real HTTP against a real server: 1-6, 9, 33-35 of the goals."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.ids import new_token
from omoi_os.sandboxes import repository, service
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks import repository as tasks
from tests.api_process import ApiProcess, Reporter, batch_body, make_reporters

EVENT = {"event_type": "agent.message", "event_data": {"text": "hello"}}
DEEP = b"[" * 100_000 + b"]" * 100_000
#: The data of an event that no sandbox may store.
POISON = {
    "lone surrogate": b'{"v": "\\ud800"}',
    "depth 1,000": b'{"v": ' + b"[" * 1_000 + b"]" * 1_000 + b"}",
    "depth 100,000": b'{"v": ' + DEEP + b"}",
    "infinite number": b'{"v": 1e200000}',
    "140,000 digits": b'{"v": ' + b"9" * 140_000 + b"}",
    "not a number": b'{"v": NaN}',
    "not UTF-8": b'{"v": "\xff"}',
}


class Attacker:
    """Calls the API as anybody can."""

    def __init__(self, http: aiohttp.ClientSession, api: ApiProcess, sessions: Sessions) -> None:
        self.http, self.api, self.sessions = http, api, sessions

    async def call(
        self, method: str, path: str, token: str | None, body: object = None, **options: Any
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers |= {"Content-Type": "application/json"} | options.pop("headers", {})
        async with self.http.request(method, self.api.url + path, headers=headers, data=data, **options) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text.startswith("{") else {}

    async def post(self, reporter: Reporter, body: object, rest: str = "/events") -> tuple[int, dict[str, Any]]:
        return await self.call("POST", reporter.path(rest), reporter.token, body)

    async def stored(self, reporter: Reporter) -> list[tuple[str, dict[str, Any]]]:
        async with self.sessions() as session:
            rows = await repository.list_events(session, reporter.id, order="asc", limit=500)
        return [(row.event_type, row.event_data) for row in rows if not row.event_type.startswith("sandbox.")]


@pytest.fixture
def sessions(shared_sessions: Sessions) -> Sessions:
    return shared_sessions


@pytest.fixture
async def attacker(shared_api: ApiProcess, sessions: Sessions) -> AsyncIterator[Attacker]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as http:
        yield Attacker(http, shared_api, sessions)


@pytest.fixture
async def victim(sessions: Sessions) -> Reporter:
    return (await make_reporters(sessions, 1, at_work=True))[0]


@pytest.fixture
async def other(sessions: Sessions) -> Reporter:
    return (await make_reporters(sessions, 1, at_work=True))[0]


async def test_no_token_and_a_wrong_one_store_nothing(attacker: Attacker, victim: Reporter) -> None:
    tokens = [None, "", "x", new_token("sbx"), new_token("omoi"), victim.token[:-1], victim.token.upper(), "sbx_" + "é"]
    for rest in ("/events", "/events/batch"):
        body = EVENT if rest == "/events" else {"events": [EVENT]}
        for token in tokens:
            sent = token.encode().decode("latin-1") if token else None
            status, answer = await attacker.call("POST", victim.path(rest), sent, body)
            assert (status, answer["code"]) == (401, "bad_token"), token
        for query in (f"?token={victim.token}", f"?access_token={victim.token}"):
            assert (await attacker.call("POST", victim.path(rest) + query, None, body))[0] == 401

    assert await attacker.stored(victim) == []
    assert (await attacker.post(victim, EVENT))[0] == 200


async def test_a_sandbox_finds_nothing_of_another(attacker: Attacker, victim: Reporter, other: Reporter) -> None:
    nobody = Reporter("omoios-00000000-000000", other.token)
    # Once with a token that is not remembered yet, once with one that is.
    for _ in range(2):
        answers = []
        for target in (victim, nobody):
            for method, rest in (("POST", "/events"), ("POST", "/events/batch"), ("GET", "/task")):
                status, answer = await attacker.call(method, target.path(rest), other.token, EVENT)
                answers.append((status, answer["code"], answer["detail"].replace(target.id, "")))
        assert set(answers) == {(404, "not_found", "there is no sandbox ''")}
        assert (await attacker.post(other, EVENT))[0] == 200

    assert await attacker.stored(victim) == []


async def test_identity_in_a_payload_is_ignored(attacker: Attacker, victim: Reporter, other: Reporter) -> None:
    forged = {"sandbox_id": victim.id, "task_id": victim.id, "user_id": "admin", "fence": 99, "project_id": victim.id}

    assert (await attacker.post(other, EVENT | forged))[1]["sandbox_id"] == other.id
    assert (await attacker.post(other, {"events": [EVENT | forged]} | forged, "/events/batch"))[0] == 200
    assert (len(await attacker.stored(victim)), len(await attacker.stored(other))) == (0, 2)


async def test_the_token_of_an_older_attempt_is_stale(attacker: Attacker, victim: Reporter, sessions: Sessions) -> None:
    assert (await attacker.post(victim, EVENT))[0] == 200
    async with sessions.begin() as session:
        sandbox = await repository.lock(session, victim.id)
        assert sandbox.task_id is not None
        (await tasks.lock(session, sandbox.task_id)).fence += 1

    for rest, body in (("/events", EVENT), ("/events/batch", {"events": [EVENT]})):
        status, answer = await attacker.post(victim, body, rest)
        assert (status, answer["code"]) == (409, "stale_fence")
    assert len(await attacker.stored(victim)) == 1


async def test_a_sandboxs_token_opens_no_users_route(attacker: Attacker, victim: Reporter) -> None:
    for method, path in (
        ("GET", "/tickets"),
        ("POST", "/tickets"),
        ("POST", "/projects"),
        ("GET", "/sandboxes"),
        ("DELETE", f"/sandboxes/{victim.id}"),
        ("GET", "/users"),
        ("POST", "/users"),
    ):
        status, answer = await attacker.call(method, "/api/v1" + path, victim.token, {})
        assert (status, answer["code"]) == (403, "forbidden"), path


async def test_a_sandbox_cannot_speak_for_the_platform(attacker: Attacker, victim: Reporter) -> None:
    forged: list[dict[str, Any]] = [
        EVENT | {"source": "guardian"},
        EVENT | {"source": "system"},
        EVENT | {"event_type": "task.verified", "event_data": {"verified": True}},
        EVENT | {"event_type": "sandbox.terminated"},
        EVENT | {"event_type": "system.note"},
        EVENT | {"event_type": "rejected"},
    ]
    for event in forged:
        assert (await attacker.post(victim, event))[0] == 403
    assert await attacker.stored(victim) == []

    numbered = [event | {"seq": number} for number, event in enumerate([*forged, EVENT], start=1)]
    status, answer = await attacker.post(victim, {"events": numbered}, "/events/batch")
    assert (status, answer["accepted"], answer["last_seq"], len(answer["rejected"])) == (200, 1, 7, 6)
    assert [kind for kind, _ in await attacker.stored(victim)] == ["rejected"] * 6 + ["agent.message"]


async def test_a_token_ends_with_its_sandbox(attacker: Attacker, victim: Reporter, sessions: Sessions) -> None:
    assert (await attacker.post(victim, EVENT))[0] == 200
    async with sessions.begin() as session:
        sandbox = await repository.lock(session, victim.id)
        now = datetime.now(UTC)
        await service.end(session, MemoryBus(), sandbox, state=SandboxState.LOST, reason="test", now=now)

    for _ in range(2):
        for rest, body in (("/events", EVENT), ("/events/batch", {"events": [EVENT]})):
            status, answer = await attacker.post(victim, body, rest)
            assert (status, answer["code"]) == (409, "stale_fence")


async def test_a_renewed_token_replaces_the_old_one_at_once(
    attacker: Attacker, victim: Reporter, sessions: Sessions
) -> None:
    assert (await attacker.post(victim, EVENT))[0] == 200
    async with sessions.begin() as session:
        token = await service.renew_token(session, await repository.lock(session, victim.id))

    for _ in range(2):
        assert (await attacker.post(victim, EVENT))[0] == 401
    assert (await attacker.post(Reporter(victim.id, token), EVENT))[0] == 200


async def test_names_and_tokens_cannot_be_guessed(sessions: Sessions) -> None:
    made = await make_reporters(sessions, 20)

    tokens = [reporter.token.removeprefix("sbx_") for reporter in made]
    # 43 characters of six bits each; no two share a beginning that a counter or a clock would give.
    assert {len(token) for token in tokens} == {43}
    assert len({token[:6] for token in tokens}) == len({token[-6:] for token in tokens}) == 20
    assert len({reporter.id[-6:] for reporter in made}) == 20


@pytest.mark.parametrize("name", POISON)
async def test_poison_hurts_its_sender_only(attacker: Attacker, victim: Reporter, other: Reporter, name: str) -> None:
    poison = b'{"event_type": "agent.message", "seq": %d, "event_data": ' + POISON[name] + b"}"
    good = b'{"event_type": "agent.message", "seq": %d}'
    first = good % 1, poison % 2, good % 3
    answers = await asyncio.gather(
        attacker.post(other, poison % 1),
        attacker.post(other, b'{"events": [' + b",".join(first) + b"]}", "/events/batch"),
        *(attacker.post(victim, EVENT) for _ in range(10)),
        attacker.post(victim, batch_body([EVENT] * 50), "/events/batch"),
    )

    (alone, answer), (status, batch), *neighbours = answers
    assert (alone, answer["code"]) == (422, "invalid")
    assert (status, batch["accepted"], batch["last_seq"]) == (200, 2, 3)
    assert [rejected["seq"] for rejected in batch["rejected"]] == [2]
    assert [kind for kind, _ in await attacker.stored(other)] == ["agent.message", "rejected", "agent.message"]
    assert {status for status, _ in neighbours} == {200}
    assert len(await attacker.stored(victim)) == 60
    listed = await attacker.call("GET", other.path(), attacker.api.environment["OMOI_ADMIN_TOKEN"])
    assert (listed[0], listed[1]["total_count"]) == (200, 4)


async def test_a_nul_is_kept_as_it_is(attacker: Attacker, victim: Reporter) -> None:
    event = EVENT | {"event_data": {"text": "a\0b", "k\0": "\u2028"}}

    assert (await attacker.post(victim, event))[0] == 200
    assert (await attacker.stored(victim))[0][1] == event["event_data"]
    shown = await attacker.call("GET", victim.path(), attacker.api.environment["OMOI_ADMIN_TOKEN"])
    assert shown[1]["items"][0]["event_data"] == event["event_data"]


async def test_bodies_without_end_are_refused_and_not_kept(attacker: Attacker, victim: Reporter) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(16_384):
            yield b" " * 65_536

    await attacker.post(victim, EVENT)
    before = attacker.api.rss_kib
    statuses = []
    for rest in ("/events", "/events/batch"):
        statuses.append(await _status(attacker, victim, rest, headers={"Content-Length": str(1 << 30)}))
        statuses.append(await _status(attacker, victim, rest, data=endless()))
    gzipped = await _status(attacker, victim, "/events", data=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})

    assert statuses == [413] * 4
    assert gzipped == 415
    assert attacker.api.rss_kib - before < 10_240
    assert (await attacker.post(victim, EVENT))[0] == 200


async def _status(attacker: Attacker, victim: Reporter, rest: str, **options: Any) -> int:
    """Return the answer's status on a new connection; the server may close it while the sender continues."""
    reader, writer = await asyncio.open_connection("127.0.0.1", attacker.api.port)
    headers = victim.headers | options.get("headers", {})
    if "Content-Length" not in headers:
        headers["Transfer-Encoding"] = "chunked"
    lines = [
        f"POST {victim.path(rest)} HTTP/1.1",
        "Host: omoi",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    sender = asyncio.create_task(_chunks(writer, options.get("data", b"")))
    try:
        return int((await reader.readline()).split()[1])
    finally:
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
        # What is unsent would keep it open.
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _chunks(writer: asyncio.StreamWriter, data: Any) -> None:
    if isinstance(data, bytes):
        writer.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data) if data else b"")
        return
    async for part in data:
        writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await writer.drain()


async def test_a_flood_is_stopped_and_its_neighbours_go_on(
    attacker: Attacker, victim: Reporter, other: Reporter, sessions: Sessions
) -> None:
    body = batch_body([EVENT] * 1000)

    answers = []

    async def flood() -> None:
        url = attacker.api.url + other.path("/events/batch")
        for _ in range(3):
            async with attacker.http.post(url, data=body, headers=other.headers) as answer:
                answers.append((answer.status, answer.headers.get("Retry-After")))

    floods = asyncio.gather(*(flood() for _ in range(16)))
    neighbour = []
    while not floods.done():
        neighbour.append((await attacker.post(victim, EVENT))[0])
    await floods

    assert set(answers) == {(200, None), (429, "1")}
    assert set(neighbour) == {200}
    # Positive control: as much again from many is taken; it is the one that is stopped.
    many = await make_reporters(sessions, 12, at_work=True)
    assert {(await attacker.post(each, body, "/events/batch"))[0] for each in many * 2} == {200}
