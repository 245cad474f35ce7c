"""Credentials over HTTP: written, listed, checked and deleted, and never shown."""

import asyncio
from typing import Any

import httpx
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from fastapi import FastAPI
from sqlalchemy import select, text

from omoi_os.config import Settings
from omoi_os.credentials.encryption import Keyring, key_path
from omoi_os.credentials.models import Credential
from omoi_os.credentials.service import MAX_PER_USER
from omoi_os.db.base import Sessions
from tests.api.conftest import Worker, a_key, calling
from tests.gateway.answers import saying
from tests.gateway.places import Host

SECRET = "sk-ant-api03-the-secret-of-ada"
NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"
KEY = {"provider": "anthropic", "name": "Work", "secret": SECRET}
SSH_KEY = (
    ed25519.Ed25519PrivateKey.generate()
    .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
    .decode()
)


async def add(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/credentials", json=KEY | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def names(client: httpx.AsyncClient, **wanted: Any) -> list[str]:
    items = (await client.get("/credentials")).json()["items"]
    return [row["name"] for row in items if wanted.items() <= row.items()]


async def test_a_credential_is_added_listed_checked_and_deleted_without_its_secret(
    ada: httpx.AsyncClient, host: Host, sessions: Sessions, keyring: Keyring
) -> None:
    made = await add(ada)
    listed = await ada.get("/credentials")
    again = await ada.post(f"/credentials/{made['id']}/check")
    async with sessions() as session:
        row = (await session.execute(select(Credential))).scalar_one()
    gone = await ada.delete(f"/credentials/{made['id']}")

    assert (made["last_four"], made["check"], made["is_default"], made["shared"]) == ("-ada", "ok", True, False)
    assert listed.json()["items"] == [made]
    assert (again.status_code, again.json()["check"]) == (200, "ok")
    assert again.json()["checked_at"] > made["checked_at"]
    assert keyring.decrypt(row) == SECRET
    assert gone.status_code == 204
    assert await names(ada) == []
    assert (await ada.delete(f"/credentials/{made['id']}")).status_code == 404
    for shown in (str(made), listed.text, again.text):
        assert SECRET not in shown
    assert [(asked.path, asked.headers["x-api-key"]) for asked in host.asked] == [("/v1/models?limit=1", SECRET)] * 2


@pytest.mark.parametrize(
    ("status", "headers", "check"),
    [(200, {}, "ok"), (401, {}, "refused"), (403, {}, "refused"), (500, {}, "unreachable"), (302, {}, "unreachable")],
)
async def test_the_check_says_what_the_host_of_a_model_answers(
    ada: httpx.AsyncClient, host: Host, status: int, headers: dict[str, str], check: str
) -> None:
    host.answer = saying(status, {})

    assert (await add(ada))["check"] == check


@pytest.mark.parametrize(
    ("status", "remaining", "check"),
    [(200, "9", "ok"), (401, "9", "refused"), (403, "9", "refused"), (403, "0", "unreachable")],
)
async def test_a_github_token_is_checked_at_the_configured_address(
    ada: httpx.AsyncClient, host: Host, *, status: int, remaining: str, check: str
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({}, status=status, headers={"x-ratelimit-remaining": remaining})

    host.answer = answer

    made = await add(ada, provider="github", secret="ghp_0123456789")

    assert (made["check"], host.asked[0].path) == (check, "/github/user")
    assert host.asked[0].headers["Authorization"] == "Bearer ghp_0123456789"


async def test_a_compatible_host_without_a_list_of_models_is_asked_for_one_token(
    ada: httpx.AsyncClient, host: Host
) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({}, status=200 if request.method == "POST" else 404)

    host.answer = answer
    made = await add(ada, provider="anthropic_compatible", base_url=f"{host.url}/zai/", model="glm-4.6")

    assert (made["check"], made["base_url"]) == ("ok", f"{host.url}/zai")
    assert [asked.path for asked in host.asked] == ["/zai/v1/models?limit=1", "/zai/v1/messages"]
    assert host.asked[1].headers["Authorization"] == f"Bearer {SECRET}"
    assert b'"glm-4.6"' in host.asked[1].body


async def test_a_host_that_does_not_answer_is_unreachable_and_the_credential_is_kept(
    ada: httpx.AsyncClient, host: Host
) -> None:
    made = await add(ada, provider="anthropic_compatible", base_url="http://127.0.0.1:1")

    assert (made["check"], await names(ada)) == ("unreachable", ["Work"])


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"secret": "sk-ant-oat01-of-a-subscription"}, "secret: this is the OAuth token of a Claude subscription"),
        ({"secret": "short"}, "secret: must be 8 to 1000 visible ASCII characters"),
        ({"secret": "with a space in it"}, "secret: must be 8 to 1000 visible ASCII characters"),
        ({"secret": "line\r\nX-Injected: yes"}, "secret: must be 8 to 1000 visible ASCII characters"),
        ({"provider": "anthropic_compatible"}, "base_url: required for anthropic_compatible"),
        ({"base_url": "https://10.0.0.1"}, "base_url: 10.0.0.1 is not a public address"),
        ({"base_url": "https://2130706433"}, "base_url: '2130706433' is neither a host name nor an IP address"),
        ({"base_url": "https://169.254.169.254"}, "base_url: 169.254.169.254 is not a public address"),
        ({"base_url": "http://api.example.org"}, "base_url: must start with https://"),
        ({"provider": "github", "base_url": "https://api.example.org"}, "base_url: GitHub's address is"),
        ({"provider": "github", "model": "x"}, "model: only for providers of models"),
        ({"provider": "github", "shared": True}, "shared: only credentials for models can be shared"),
        ({"username": "ada"}, "username and known_hosts: only for the provider git"),
        ({"provider": "git"}, "base_url: required for git"),
        ({"provider": "git", "base_url": "https://git.example.org"}, "username: required for git over HTTPS"),
        (
            {"provider": "git", "base_url": "https://git.example.org", "username": "ada", "secret": "seven77"},
            "secret: must be a password or token of 8 to 1000 characters",
        ),
        ({"provider": "git", "base_url": "https://git.example.org/x"}, "base_url: for git, name only the host"),
        ({"provider": "git", "base_url": "ssh://git.example.org"}, "known_hosts: required for git over SSH"),
        (
            {"provider": "git", "base_url": "ssh://git.example.org", "known_hosts": "x"},
            "secret: must be a private key in the format of OpenSSH",
        ),
        ({"provider": "openai"}, "provider: must be one of"),
        ({"model": "a model"}, "model: "),
        ({"name": " "}, "name: "),
    ],
)
async def test_a_bad_field_is_refused_with_one_sentence_and_nothing_is_stored(
    admin: httpx.AsyncClient, host: Host, fields: dict[str, Any], problem: str
) -> None:
    answer = await admin.post("/credentials", json=KEY | fields)

    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(problem)
    assert (KEY | fields)["secret"] not in answer.text
    assert (await names(admin), host.asked) == ([], [])


async def test_a_name_that_leads_inside_is_refused_unless_the_operator_named_it(
    app: FastAPI, ada: httpx.AsyncClient, host: Host, settings: Settings
) -> None:
    inside = KEY | {"provider": "anthropic_compatible", "base_url": host.url.replace("127.0.0.1", "localhost")}
    over_tls = inside | {"base_url": inside["base_url"].replace("http:", "https:")}

    refused = await ada.post("/credentials", json=over_tls, headers={"Idempotency-Key": "first"})
    app.state.settings = settings.model_copy(update={"egress_private": ("localhost",)})
    named = await ada.post("/credentials", json=inside, headers={"Idempotency-Key": "first"})

    assert (refused.status_code, refused.json()["code"]) == (422, "destination_refused")
    assert refused.json()["detail"].startswith("base_url: localhost is not a public address")
    assert (named.status_code, named.json()["check"], len(host.asked)) == (201, "ok", 1)


async def test_a_git_host_takes_an_ssh_key_or_a_user_with_a_password(ada: httpx.AsyncClient) -> None:
    of_ssh = {"base_url": "ssh://git.example.org:2222", "known_hosts": "git.example.org ssh-ed25519 AAAA"}
    by_key = await add(ada, provider="git", secret=SSH_KEY, **of_ssh)
    by_password = await add(
        ada, provider="git", base_url="https://git.example.org", username="ada", secret="correct horse battery"
    )

    assert (by_key["last_four"], by_key["check"], by_key["is_default"]) == ("", None, True)
    assert (by_password["username"], by_password["is_default"]) == ("ada", True)


async def test_one_credential_for_each_use_is_the_default(ada: httpx.AsyncClient, host: Host) -> None:
    await add(ada, name="first")
    await add(ada, name="second")
    third = await add(ada, name="third", provider="anthropic_compatible", base_url=host.url, is_default=True)
    await add(ada, name="fourth", provider="github", secret="ghp_0123456789")
    assert await names(ada, is_default=True) == ["fourth", "third"]

    await ada.delete(f"/credentials/{third['id']}")

    assert await names(ada, is_default=True) == ["fourth", "second"]


async def test_credentials_added_at_once_leave_one_default(ada: httpx.AsyncClient) -> None:
    await asyncio.gather(*(add(ada, name=str(number), is_default=True) for number in range(8)))

    assert len(await names(ada, is_default=True)) == 1
    assert len(await names(ada)) == 8


async def test_a_person_has_a_bounded_number_of_credentials(ada: httpx.AsyncClient, sessions: Sessions) -> None:
    made = await add(ada)
    async with sessions.begin() as session:
        columns = "user_id, provider, used_for, name, is_default, last_four, key_id, nonce, ciphertext"
        await session.execute(
            text(
                f"INSERT INTO credentials (id, {columns}) SELECT gen_random_uuid(), "
                f"{columns.replace('is_default', 'false')} FROM credentials, generate_series(2, {MAX_PER_USER})"
            )
        )

    refused = await ada.post("/credentials", json=KEY)
    await ada.delete(f"/credentials/{made['id']}")

    assert (refused.status_code, (await ada.post("/credentials", json=KEY)).status_code) == (409, 201)


async def test_others_credentials_are_not_found_and_shared_ones_are_for_administrators(
    admin: httpx.AsyncClient, ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    own = await add(ada)
    shared = await add(admin, name="Everyone", shared=True)

    assert (await names(ada), await names(bob), await names(admin)) == (["Work"], [], ["Everyone"])
    for client in (bob, admin):
        assert (await client.post(f"/credentials/{own['id']}/check")).status_code == 404
        assert (await client.delete(f"/credentials/{own['id']}")).status_code == 404
    assert (await ada.delete(f"/credentials/{shared['id']}")).status_code == 404
    assert (await bob.post("/credentials", json=KEY | {"shared": True})).status_code == 403
    assert (await admin.delete(f"/credentials/{shared['id']}")).status_code == 204


CALLS = [
    ("GET", "/credentials", None),
    ("POST", "/credentials", KEY),
    ("POST", "/credentials/{id}/check", None),
    ("DELETE", "/credentials/{id}", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
async def test_every_route_refuses_strangers_sandboxes_and_keys_that_only_read(
    app: FastAPI,
    sessions: Sessions,
    anonymous: httpx.AsyncClient,
    ada: httpx.AsyncClient,
    worker: Worker,
    method: str,
    path: str,
    body: dict[str, Any] | None,
) -> None:
    made = await add(ada, name="kept")
    where = path.format(id=made["id"])
    async with calling(app, await a_key(sessions, "reader", scope="read")) as reader:
        stranger, sandbox, reading, own = [
            (await client.request(method, where, json=body)).status_code
            for client in (anonymous, worker.client, reader, ada)
        ]

    assert (stranger, sandbox) == (401, 403)
    assert reading == (200 if method == "GET" else 403)
    assert own < 300


async def test_a_key_without_administrator_rights_cannot_share(app: FastAPI, admin: httpx.AsyncClient) -> None:
    key = (await admin.post("/auth/api-keys", json={"name": "ci", "scope": "write"})).json()["key"]

    async with calling(app, key) as ci:
        assert (await ci.post("/credentials", json=KEY | {"shared": True})).status_code == 403
        assert (await ci.post("/credentials", json=KEY)).status_code == 201


async def test_a_repeated_request_adds_one_credential(ada: httpx.AsyncClient) -> None:
    first, second = [await ada.post("/credentials", json=KEY, headers={"Idempotency-Key": "once"}) for _ in range(2)]

    assert (first.json(), first.json()["check"]) == (second.json(), "ok")
    assert await names(ada) == ["Work"]


async def test_no_hash_of_the_secret_is_kept_for_repeated_requests(ada: httpx.AsyncClient, sessions: Sessions) -> None:
    for number in range(2):
        await ada.post(
            "/credentials", json=KEY | {"secret": f"secret-{number}"}, headers={"Idempotency-Key": f"{number}"}
        )

    async with sessions() as session:
        stored = (await session.execute(text("SELECT fingerprint FROM idempotent_requests"))).scalars().all()
    assert (len(stored), len(set(stored))) == (2, 1)


async def test_changes_are_in_the_audit_trail_without_the_secret(
    admin: httpx.AsyncClient, ada: httpx.AsyncClient
) -> None:
    made = await add(ada)
    await ada.delete(f"/credentials/{made['id']}")

    entries = (await admin.get("/audit")).json()["items"][:2]

    assert [entry["kind"] for entry in entries] == ["credential_deleted", "credential_added"]
    assert {entry["detail"] for entry in entries} == {"Work (anthropic, ends in -ada)"}


async def test_a_moved_ciphertext_and_a_lost_key_are_one_error_each_and_nothing_else(
    app: FastAPI, ada: httpx.AsyncClient, bob: httpx.AsyncClient, sessions: Sessions, settings: Settings
) -> None:
    stolen, fine = await add(ada), await add(bob, secret="sk-ant-api03-the-secret-of-bob")
    own = await add(bob, name="Own")
    async with sessions.begin() as session:
        move = "UPDATE credentials b SET key_id = a.key_id, nonce = a.nonce, ciphertext = a.ciphertext"
        where = {"a": stolen["id"], "b": own["id"]}
        await session.execute(text(f"{move} FROM credentials a WHERE a.id = :a AND b.id = :b"), where)

    moved = await bob.post(f"/credentials/{own['id']}/check")
    key_path(settings).unlink()
    app.state.keyring = Keyring(settings)
    lost = await bob.post(f"/credentials/{fine['id']}/check")

    assert (moved.status_code, moved.json()["code"]) == (409, "credential_locked")
    assert "its row was changed" in moved.json()["detail"]
    assert (lost.status_code, lost.json()["code"]) == (409, "credential_locked")
    assert "is missing: restore the key" in lost.json()["detail"]
    assert await names(bob) == ["Own", "Work"]
    assert (await bob.delete(f"/credentials/{fine['id']}")).status_code == 204
    assert (await add(bob, name="New"))["check"] == "ok"
