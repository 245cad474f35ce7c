"""Whose credential a model call uses: the author's own, else the shared one, else the settings', and nobody else's."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import text

from omoi_os.accounts.models import User
from omoi_os.bus.memory import MemoryBus
from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import Settings
from omoi_os.credentials import service as credentials
from omoi_os.credentials.encryption import Keyring, key_path
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.credentials.models import Credential
from omoi_os.credentials.values import NewCredential
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.masking import MASK
from omoi_os.sandboxes import service as sandboxes
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.service import Origin
from omoi_os.tasks import service as tasks
from omoi_os.visibility import Role
from tests.builders import a_project, a_spec_sandbox, a_task, a_ticket, a_user
from tests.conftest import NOON
from tests.gateway.answers import BODY, saying
from tests.gateway.conftest import KEY, Start, listening
from tests.gateway.places import GatewaySocket, Host

REPLY = {"type": "message", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}
COMPATIBLE = CredentialProvider.ANTHROPIC_COMPATIBLE
CALL = BODY | {"stream": False}

Give = Callable[..., Awaitable[Credential]]
Work = Callable[..., Awaitable[GatewaySocket]]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"egress_private": ("127.0.0.1",)})


@pytest.fixture
async def hosts() -> AsyncIterator[dict[str, Host]]:
    """A host of models for each person."""
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(listening(Host(saying(200, REPLY)))) for name in ("ada", "bob")}


@pytest.fixture
async def people(sessions: Sessions) -> dict[str, User]:
    async with sessions.begin() as session:
        roles = {"ada": Role.MEMBER, "bob": Role.MEMBER, "eve": Role.MEMBER, "root": Role.ADMIN}
        return {name: await a_user(session, role=role) for name, role in roles.items()}


@pytest.fixture
def give(sessions: Sessions, bus: PostgresBus, settings: Settings) -> Give:
    """Add a credential as the API does."""

    async def add(user: User, secret: str, **fields: Any) -> Credential:
        values = {"provider": CredentialProvider.ANTHROPIC, "name": secret} | fields
        async with sessions.begin() as session:
            new = NewCredential(secret=secret, **values)
            return await credentials.add(
                session, bus, Keyring(settings), user, new, settings=settings, now=Clock().now()
            )

    return add


@pytest.fixture
def work(sessions: Sessions, bus: PostgresBus, settings: Settings) -> Work:
    """The sandbox of a ticket by one person in another person's project."""

    async def open_sandbox(author: User, owner: User, *, model: str | None = None) -> GatewaySocket:
        async with sessions.begin() as session:
            project = await a_project(session, owner)
            ticket = await a_ticket(session, project, created_by=author.id)
            task = await a_task(session, bus, ticket)
            await tasks.assign(session, bus, task, lease_owner=1, until=NOON)
            origin = Origin(provider="local", site=settings.site, model=model, budget_usd=None)
            sandbox, token = await sandboxes.open_sandbox(
                session, bus, task, purpose=Purpose.WORK, origin=origin, now=NOON
            )
        return GatewaySocket(settings, project, task, sandbox, token)

    return open_sandbox


async def ask(socket: GatewaySocket) -> tuple[int, str]:
    """Call the model once."""
    async with socket.client() as client, client.post("/v1/messages", json=CALL) as answer:
        return answer.status, await answer.text()


def keys_of(host: Host) -> list[str]:
    """The keys with which a host was called."""
    return [asked.headers["x-api-key"] for asked in host.asked]


async def test_forty_mixed_tasks_use_only_the_keys_of_their_authors(
    people: dict[str, User], hosts: dict[str, Host], give: Give, work: Work, start: Start, model: Host
) -> None:
    for name, host in hosts.items():
        await give(people[name], f"key-of-{name}", provider=COMPATIBLE, base_url=host.url)
    model.answer = saying(200, REPLY)
    chance = random.Random(7)
    authors = [name for name in ("ada", "bob", "eve", "root") for _ in range(10)]
    chance.shuffle(authors)
    sockets = [await work(people[name], people[chance.choice(list(people))]) for name in authors]
    await start()

    answers = await asyncio.gather(*(ask(socket) for socket in sockets for _ in range(2)))

    assert [status for status, _ in answers] == [200] * 80
    assert keys_of(hosts["ada"]) == ["key-of-ada"] * 20
    assert keys_of(hosts["bob"]) == ["key-of-bob"] * 20
    assert [asked.headers["Authorization"] for asked in hosts["bob"].asked] == ["Bearer key-of-bob"] * 20
    assert keys_of(model) == [KEY] * 40


async def test_the_shared_credential_is_for_those_without_one(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host
) -> None:
    await give(people["root"], "key-of-everyone", shared=True)
    await give(people["ada"], "key-of-ada")
    await give(people["bob"], "key-of-bob", is_default=False)
    model.answer = saying(200, REPLY)
    sockets = {name: await work(people[name], people["ada"]) for name in ("ada", "bob", "eve", "root")}
    await start()

    for socket in sockets.values():
        await ask(socket)

    assert keys_of(model) == ["key-of-ada", "key-of-everyone", "key-of-everyone", "key-of-everyone"]


async def test_a_deactivated_persons_credential_is_not_used(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host, sessions: Sessions
) -> None:
    await give(people["ada"], "key-of-ada")
    socket = await work(people["ada"], people["ada"])
    await start()
    await ask(socket)

    async with sessions.begin() as session:
        await session.execute(text("UPDATE users SET deactivated_at = now() WHERE id = :id"), {"id": people["ada"].id})
    await ask(socket)

    assert keys_of(model) == ["key-of-ada", KEY]


async def test_a_deleted_credential_is_not_used_by_the_next_call_of_a_running_task(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host, sessions: Sessions, bus: PostgresBus
) -> None:
    row = await give(people["ada"], "key-of-ada")
    socket = await work(people["ada"], people["ada"], model="claude-sonnet-4-5")
    await start(anthropic_api_key=None)
    model.answer = saying(200, REPLY)
    assert (await ask(socket))[0] == 200

    async with sessions.begin() as session:
        await credentials.delete(session, bus, row)
    status, said = await ask(socket)

    # The scripted model must not continue what a real model has started.
    assert (status, keys_of(model)) == (400, ["key-of-ada"])
    assert "The credential for claude-sonnet-4-5 no longer exists" in said
    async with sessions() as session:
        assert "no longer exists" in str((await session.get_one(Sandbox, socket.sandbox.id)).refusal)


async def test_work_that_started_with_the_scripted_model_stays_with_it(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host
) -> None:
    socket = await work(people["ada"], people["ada"], model="scripted")
    await start(anthropic_api_key=None)
    await give(people["ada"], "key-of-ada")

    await ask(socket)

    assert model.asked == []


async def test_a_lost_key_refuses_that_persons_calls_and_no_others(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host, settings: Settings
) -> None:
    await give(people["ada"], "key-of-ada", name="Work")
    ada, eve = [await work(people[name], people["root"]) for name in ("ada", "eve")]
    key_path(settings).unlink()
    await start()
    model.answer = saying(200, REPLY)

    status, said = await ask(ada)

    assert (status, model.asked) == (400, [])
    assert "the credential 'Work' cannot be decrypted because its key" in said
    assert (await ask(eve))[0] == 200
    assert keys_of(model) == [KEY]


async def test_a_ciphertext_moved_to_another_person_does_not_open(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host, sessions: Sessions
) -> None:
    row = await give(people["ada"], "key-of-ada")
    socket = await work(people["bob"], people["bob"])
    async with sessions.begin() as session:
        await session.execute(
            text("UPDATE credentials SET user_id = :bob WHERE id = :id"), {"bob": people["bob"].id, "id": row.id}
        )
    await start()

    status, said = await ask(socket)

    assert (status, model.asked) == (400, [])
    assert "its row was changed" in said


async def test_a_host_that_is_no_longer_allowed_is_not_called(
    people: dict[str, User], hosts: dict[str, Host], give: Give, work: Work, start: Start
) -> None:
    await give(people["ada"], "key-of-ada", provider=COMPATIBLE, base_url=hosts["ada"].url)
    socket = await work(people["ada"], people["ada"])
    await start(egress_private=())

    status, said = await ask(socket)

    assert (status, hosts["ada"].asked) == (400, [])
    assert "OMOI_EGRESS_PRIVATE" in said


async def test_the_credentials_own_model_is_used(
    people: dict[str, User], hosts: dict[str, Host], give: Give, work: Work, start: Start
) -> None:
    host = hosts["ada"]
    await give(
        people["ada"],
        "key-of-ada",
        provider=CredentialProvider.ANTHROPIC_COMPATIBLE,
        base_url=host.url,
        model="glm-4.6",
    )
    socket = await work(people["ada"], people["ada"])
    await start()

    await ask(socket)

    assert (host.asked[0].path, b'"model":"glm-4.6"' in host.asked[0].body.replace(b" ", b"")) == ("/v1/messages", True)


async def test_a_host_that_repeats_the_key_in_an_error_does_not_reveal_it(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host, sessions: Sessions
) -> None:
    socket = await work(people["ada"], people["ada"])
    await start()
    await give(people["ada"], "canary-0123456789")

    async def repeat(request: web.Request) -> web.Response:
        message = f"bad key {request.headers['x-api-key']}"
        return web.json_response({"error": {"message": message}}, status=401)

    model.answer = repeat
    status, said = await ask(socket)

    assert (status, MASK in said, "canary" in said) == (401, True, False)
    async with sessions() as session:
        assert (await session.get_one(Sandbox, socket.sandbox.id)).refusal == f"bad key {MASK}"


async def test_the_use_of_a_credential_is_recorded_once_a_minute(
    people: dict[str, User], give: Give, work: Work, start: Start, model: Host, sessions: Sessions
) -> None:
    row = await give(people["ada"], "key-of-ada")
    socket = await work(people["ada"], people["ada"])
    await start()

    async def used() -> Any:
        async with sessions() as session:
            return (await session.get_one(Credential, row.id)).last_used_at

    assert await used() is None
    await ask(socket)
    first = await used()
    await ask(socket)

    assert first is not None
    assert await used() == first


async def test_a_sandbox_of_a_spec_uses_the_credential_of_the_projects_owner(
    people: dict[str, User], give: Give, start: Start, model: Host, sessions: Sessions, settings: Settings
) -> None:
    await give(people["ada"], "key-of-ada")
    await give(people["bob"], "key-of-bob")
    async with sessions.begin() as session:
        project = await a_project(session, people["bob"])
        sandbox, token = await a_spec_sandbox(session, project, now=NOON, site=settings.site, model=None)
        task = await a_task(session, MemoryBus())
    await start()

    await ask(GatewaySocket(settings, project, task, sandbox, token))

    assert keys_of(model) == ["key-of-bob"]
