"""What people may not do, each beside the same thing by somebody who may."""

import asyncio
import hashlib
import os
import socket
from base64 import b64encode
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import select

from omoi_os.accounts.models import ApiKey
from omoi_os.audit.models import AuditEntry
from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.bare import git
from omoi_os.forges.smart_http.calls import PUSH
from omoi_os.ids import token_hash
from omoi_os.tasks.lifecycle import ACTIVE, TaskState
from omoi_os.visibility import Role
from tests.api.git.people import Person, Server
from tests.api.git.test_server import basic
from tests.builders import a_work_sandbox

REFS = "/info/refs?service=git-upload-pack"
PUSH_REFS = "/info/refs?service=git-receive-pack"


async def status(url: str, headers: dict[str, str] | None = None) -> int:
    async with httpx.AsyncClient() as client:
        return (await client.get(url, headers=headers or {})).status_code


async def raw_status(person: Person, path: str) -> int:
    """The status for a path that is sent exactly as it is."""
    where = urlsplit(person.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    credentials = basic(person.key)["Authorization"]
    with closing(writer):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {credentials}\r\n\r\n".encode())
        return int((await reader.readline()).split()[1])


async def test_without_a_key_git_is_asked_to_sign_in(owner: Person) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.get(owner.url + REFS)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert await status(owner.url + REFS, basic(owner.key)) == 200  # positive control


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !",
        f"Basic {b64encode(b'only-a-name').decode()}",
        f"Basic {b64encode(b'name:').decode()}",
        f"Basic {b64encode(b'name:omoi_unknown').decode()}",
        f"Basic {b64encode(bytes([255, 58, 255])).decode()}",
    ],
)
async def test_a_header_without_a_known_key_is_not_a_sign_in(owner: Person, header: str) -> None:
    assert await status(owner.url + REFS, {"Authorization": header}) == 401


async def test_a_key_is_accepted_as_a_password_only(owner: Person) -> None:
    assert await status(owner.url + REFS, {"Authorization": f"Bearer {owner.key}"}) == 401
    assert await status(owner.url + REFS, basic("", user=owner.key)) == 401


async def test_a_revoked_key_is_refused(server: Server, owner: Person) -> None:
    assert await status(owner.url + REFS, basic(owner.key)) == 200
    async with server.sessions.begin() as session:
        query = select(ApiKey).where(ApiKey.key_hash == token_hash(owner.key))
        (await session.execute(query)).scalar_one().revoked_at = datetime.now(UTC)

    assert await status(owner.url + REFS, basic(owner.key)) == 401


@pytest.mark.parametrize("call", [REFS, PUSH_REFS])
async def test_another_person_s_project_does_not_exist(server: Server, owner: Person, call: str) -> None:
    stranger = await server.person(of=owner)

    assert await status(stranger.url + call, basic(stranger.key)) == 404
    assert await status(owner.url + call, basic(owner.key)) == 200
    absent = f"{server.api.url}/git/00000000-0000-4000-8000-000000000000.git"
    assert await status(absent + call, basic(stranger.key)) == 404


async def test_a_sandbox_s_token_is_no_password(server: Server, owner: Person) -> None:
    async with server.sessions.begin() as session:
        sandbox, token = await a_work_sandbox(session, MemoryBus(), now=datetime.now(UTC))

    assert await status(owner.url + REFS, basic(token)) == 403
    async with server.sessions() as session:
        query = select(AuditEntry.kind).where(AuditEntry.actor_id == sandbox.id)
        assert (await session.execute(query)).scalars().all() == ["refused_call"]


async def test_paths_that_lead_elsewhere_are_not_served(server: Server, cloned: Person) -> None:
    path = urlsplit(cloned.url).path
    name = path.removeprefix("/git/")
    tried = [
        f"/git/../git/{name}/info/refs?service=git-upload-pack",
        f"/git/%2e%2e/git/{name}/info/refs?service=git-upload-pack",
        f"/git/x/../{name}/info/refs?service=git-upload-pack",
        f"{path.replace('.git', '%2egit')}/info/refs?service=git-upload-pack",
        f"{path}/info/..%2frefs?service=git-upload-pack",
        f"{path}/info%2frefs?service=git-upload-pack",
        f"{path}//info/refs?service=git-upload-pack",
        f"{path.upper().replace('/GIT/', '/git/').replace('.GIT', '.git')}/info/refs?service=git-upload-pack",
        f"{path}/../../../admin-token",
        f"{path}/HEAD",
        f"{path}/config",
        f"{path}/objects/info/packs",
        f"/git/{'x' * 36}.git/info/refs?service=git-upload-pack",
        "/git/",
    ]

    assert {one: await raw_status(cloned, one) for one in tried} == dict.fromkeys(tried, 404)
    assert await raw_status(cloned, f"{path}/info/refs?service=git-upload-pack") == 200  # positive control


async def test_dumb_clients_and_other_services_are_refused(cloned: Person) -> None:
    assert await status(f"{cloned.url}/info/refs", basic(cloned.key)) == 403
    assert await status(f"{cloned.url}/info/refs?service=git-upload-archive", basic(cloned.key)) == 403


@pytest.mark.parametrize(("content_type", "expected"), [("text/plain", 400), (f"application/x-{PUSH}-request", 200)])
async def test_a_push_that_a_form_of_a_web_page_could_send_is_refused(
    server: Server, cloned: Person, content_type: str, expected: int
) -> None:
    head = await server.head(cloned)
    command = f"{'0' * 40} {head} refs/heads/forged\0report-status\n"
    headers = {**basic(cloned.key), "Content-Type": content_type}
    body = f"{len(command) + 4:04x}{command}0000".encode() + _empty_pack()

    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{cloned.url}/{PUSH}", content=body, headers=headers)

    assert answer.status_code == expected
    assert await server.head(cloned, "refs/heads/forged") == (head if expected == 200 else None)


def _empty_pack() -> bytes:
    head = b"PACK" + (2).to_bytes(4) + (0).to_bytes(4)
    return head + hashlib.sha1(head).digest()


async def test_the_platform_s_refs_are_neither_listed_nor_pushed(server: Server, cloned: Person) -> None:
    head = await server.head(cloned)
    hidden = "refs/omoi/tasks/one/main"
    await git.run("update-ref", hidden, str(head), git_dir=server.repository(cloned))

    for version in ("0", "2"):
        listed = (await cloned.git("-c", f"protocol.version={version}", "ls-remote", "origin"))[1]
        assert ("refs/heads/main" in listed, "omoi" in listed) == (True, False)
    assert (await cloned.git("fetch", "-q", "origin", hidden))[0] != 0
    await cloned.commit("new.txt")
    for refspec in (f"HEAD:{hidden}", f":{hidden}", "HEAD:refs/omoi/new"):
        code, output = await cloned.git("push", "origin", refspec)
        assert (code != 0, "belong to the platform" in output) == (True, True), output
    assert await server.head(cloned, hidden) == head


@pytest.mark.parametrize("ref", ["refs/notes/commits", "refs/remotes/origin/x", "refs/pull/1/head"])
async def test_only_branches_and_tags_are_pushed(cloned: Person, ref: str) -> None:
    code, output = await cloned.git("push", "origin", f"HEAD:{ref}")

    assert (code != 0, "only branches and tags" in output) == (True, True), output


@pytest.mark.parametrize(
    "ref", ["refs/heads/../../../x", "refs/heads/-x", "refs/heads/a//b", "refs/heads/x.lock", "refs/heads/..", "HEAD"]
)
async def test_a_name_that_could_lead_out_of_the_repository_is_refused(
    server: Server, cloned: Person, ref: str
) -> None:
    head = await server.head(cloned)
    command = f"{'0' * 40} {head} {ref}\0report-status\n"
    headers = {**basic(cloned.key), "Content-Type": "application/x-git-receive-pack-request"}
    body = f"{len(command) + 4:04x}{command}0000".encode()

    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{cloned.url}/git-receive-pack", content=body, headers=headers)

    assert answer.status_code == 200
    assert f"ng {ref} only branches and tags" in answer.text


@pytest.mark.parametrize("state", sorted(ACTIVE))
async def test_the_branch_of_an_active_task_is_not_pushed(server: Server, cloned: Person, state: TaskState) -> None:
    branch = "feature/taken"
    task_id = await server.task(cloned, TaskState.PENDING, branch)
    first = await cloned.commit("first.txt")
    for name in (branch, f"wip/{task_id}"):
        assert (await cloned.git("push", "-q", "origin", f"HEAD:refs/heads/{name}")) == (0, "")  # positive control
    await server.move(task_id, state)
    await cloned.commit("second.txt")

    for refspec in (f"HEAD:{branch}", f"+HEAD:{branch}", f":{branch}", f"HEAD:wip/{task_id}", f":wip/{task_id}"):
        code, output = await cloned.git("push", "origin", refspec)
        assert (code != 0, f"which is {state}" in output) == (True, True), output

    assert await server.head(cloned, f"refs/heads/{branch}") == first
    assert (await cloned.git("push", "-q", "origin", "HEAD:feature/free")) == (0, "")


async def test_the_default_branch_is_neither_deleted_nor_rewritten(server: Server, cloned: Person) -> None:
    kept = await cloned.commit("kept.txt")
    assert (await cloned.git("push", "-q", "origin", "main")) == (0, "")
    assert (await cloned.git("commit", "-q", "--amend", "-m", "another"))[0] == 0

    forced, why = await cloned.git("push", "--force", "origin", "main")
    mixed, _ = await cloned.git("push", "--force", "origin", "main", "main:topic")
    deleted, output = await cloned.git("push", "origin", ":main")

    assert (forced != 0, mixed != 0, deleted != 0, await server.head(cloned)) == (True, True, True, kept)
    assert "non-fast-forward" in why
    assert "the default branch, main, cannot be deleted" in output


async def test_a_reader_that_stops_does_not_block_others(server: Server, cloned: Person) -> None:
    await cloned.commit("large.bin", os.urandom(24 << 20))
    assert (await cloned.git("push", "-q", "origin", "main")) == (0, "")
    commit = await server.head(cloned)
    other = await server.person(Role.ADMIN, of=cloned)
    want = f"want {commit}\n"
    lines = f"0011command=fetch0001{len(want) + 4:04x}{want}0009done\n0000".encode()
    where = urlsplit(cloned.url)
    stopped = []
    for _ in range(4):
        connection = socket.create_connection((where.hostname or "", where.port or 0))
        head = (
            f"POST {where.path}/git-upload-pack HTTP/1.1\r\nHost: 127.0.0.1\r\nGit-Protocol: version=2\r\n"
            "Content-Type: application/x-git-upload-pack-request\r\n"
            f"Authorization: {basic(cloned.key)['Authorization']}\r\nContent-Length: {len(lines)}\r\n\r\n"
        )
        connection.sendall(head.encode() + lines)
        assert connection.recv(64).startswith(b"HTTP/1.1 200")
        stopped.append(connection)
    try:
        await other.clone()
        assert await status(f"{server.api.url}/health") == 200
    finally:
        for connection in stopped:
            connection.close()
    # The closed connections have released the slots of the person.
    assert (await cloned.git("fetch", "-q", "origin")) == (0, "")


async def test_the_key_is_in_no_log_and_no_command_line(server: Server, cloned: Person) -> None:
    seen: list[bytes] = []
    await cloned.commit("large.bin", os.urandom(8 << 20))
    pushing = await cloned.start("push", "origin", "main")
    while pushing.returncode is None:
        seen.extend(_command_lines())
        await asyncio.sleep(0.01)
    encoded = basic(cloned.key)["Authorization"].removeprefix("Basic ")

    assert pushing.returncode == 0
    assert any(b"http-backend" in line or b"receive-pack" in line for line in seen)  # positive control
    assert not any(cloned.key.encode() in line or encoded.encode() in line for line in seen)
    log = server.api.log.read_text()
    assert cloned.key not in log
    assert encoded not in log


def _command_lines() -> list[bytes]:
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            found.append((process / "cmdline").read_bytes())
    return found
