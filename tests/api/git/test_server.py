"""People clone, fetch and push with the real git client."""

import gzip
import os
from base64 import b64encode

import httpx
import pytest
from sqlalchemy import select

from omoi_os.audit.models import AuditEntry
from omoi_os.visibility import Role
from tests.api.git.people import Person, Server


def basic(key: str, user: str = "anyone") -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{user}:{key}'.encode()).decode()}"}


async def test_the_owner_clones_a_project_that_no_task_has_used_yet(server: Server, owner: Person) -> None:
    await owner.clone()

    assert (owner.folder / "README.md").is_file()
    assert (await owner.git("rev-parse", "HEAD"))[1].strip() == await server.head(owner)


async def test_a_push_of_the_owner_is_on_the_default_branch(server: Server, cloned: Person) -> None:
    commit = await cloned.commit("new.txt")

    code, output = await cloned.git("push", "origin", "main")

    assert code == 0, output
    assert await server.head(cloned) == commit


async def test_an_administrator_pushes_to_another_person_s_project(server: Server, cloned: Person) -> None:
    admin = await server.person(Role.ADMIN, of=cloned)
    await admin.clone()
    commit = await admin.commit("by-an-administrator.txt")

    assert (await admin.git("push", "-q", "origin", "main")) == (0, "")

    assert await server.head(cloned) == commit


async def test_a_fetch_brings_what_another_clone_pushed(server: Server, cloned: Person) -> None:
    other = await server.person(Role.ADMIN, of=cloned)
    await other.clone()
    commit = await other.commit("other.txt")
    assert (await other.git("push", "-q", "origin", "HEAD:feature/other")) == (0, "")

    code, output = await cloned.git("fetch", "-q", "origin", "feature/other")

    assert (code, output) == (0, "")
    assert (await cloned.git("rev-parse", "FETCH_HEAD"))[1].strip() == commit


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_each_version_of_the_protocol_is_served(cloned: Person, version: str) -> None:
    code, output = await cloned.git("-c", f"protocol.version={version}", "ls-remote", "origin")

    assert code == 0
    assert "refs/heads/main" in output


async def test_a_large_push_and_clone_are_streamed_with_little_memory(server: Server, cloned: Person) -> None:
    other = await server.person(Role.ADMIN, of=cloned)
    commit = await cloned.commit("large.bin", os.urandom(96 << 20))
    before = server.api.peak_rss_kib

    # Without a buffer that holds the whole push, git sends it chunked.
    code, output = await cloned.git("-c", "http.postBuffer=1000000", "push", "origin", "main")
    await other.clone()

    assert code == 0, output
    assert (await other.git("rev-parse", "HEAD"))[1].strip() == commit
    assert server.api.peak_rss_kib - before < 48 << 10


async def test_a_compressed_request_is_understood(server: Server, cloned: Person) -> None:
    head = await server.head(cloned)
    lines = b"0011command=fetch0001" + _packet(f"want {head}\n") + _packet("done\n") + b"0000"
    headers = {
        **basic(cloned.key),
        "Content-Type": "application/x-git-upload-pack-request",
        "Content-Encoding": "gzip",
        "Git-Protocol": "version=2",
    }

    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{cloned.url}/git-upload-pack", content=gzip.compress(lines), headers=headers)

    assert (answer.status_code, b"packfile" in answer.content) == (200, True)


def _packet(line: str) -> bytes:
    return f"{len(line) + 4:04x}{line}".encode()


async def test_an_existing_history_replaces_the_first_commit_of_a_new_project(server: Server, owner: Person) -> None:
    assert (await owner.git("init", "-q", "mine"))[0] == 0
    owner.folder = owner.folder / "mine"
    await owner.commit("one.txt")
    commit = await owner.commit("two.txt")

    code, output = await owner.git("push", "--force", owner.url, "main")

    assert code == 0, output
    assert await server.head(owner) == commit


async def test_branches_and_tags_are_created_rewritten_and_deleted(server: Server, cloned: Person) -> None:
    await cloned.commit("one.txt")
    assert (await cloned.git("push", "-q", "origin", "HEAD:topic", "HEAD:refs/tags/v1")) == (0, "")
    assert (await cloned.git("commit", "-q", "--amend", "-m", "another"))[0] == 0

    code, output = await cloned.git("push", "-q", "--force", "origin", "HEAD:topic")
    assert (code, output) == (0, "")
    assert await server.head(cloned, "refs/heads/topic") == (await cloned.git("rev-parse", "HEAD"))[1].strip()
    deleted, output = await cloned.git("push", "-q", "origin", ":topic", ":refs/tags/v1")

    assert (deleted, output) == (0, "")
    assert await server.head(cloned, "refs/heads/topic") is None
    assert await server.head(cloned, "refs/tags/v1") is None


async def test_each_pushed_ref_is_in_the_audit_trail(server: Server, cloned: Person) -> None:
    before = await server.head(cloned)
    commit = await cloned.commit("new.txt")
    assert (await cloned.git("push", "-q", "origin", "main", "main:topic")) == (0, "")
    assert (await cloned.git("push", "-q", "origin", ":topic")) == (0, "")

    async with server.sessions() as session:
        query = select(AuditEntry).where(AuditEntry.actor_id == cloned.email).order_by(AuditEntry.id)
        entries = (await session.execute(query)).scalars().all()

    project, none = cloned.url.rpartition("/")[2].removesuffix(".git"), "0" * 40
    assert [(entry.kind, entry.subject, entry.detail) for entry in entries] == [
        ("ref_pushed", "refs/heads/main", f"project {project}: {before} -> {commit}"),
        ("ref_pushed", "refs/heads/topic", f"project {project}: {none} -> {commit}"),
        ("ref_pushed", "refs/heads/topic", f"project {project}: {commit} -> {none}"),
    ]


async def test_a_key_that_may_only_read_fetches_and_does_not_push(server: Server, cloned: Person) -> None:
    reader = await server.person(Role.ADMIN, of=cloned, scope="read")
    await reader.clone()
    before = await server.head(cloned)
    await reader.commit("new.txt")

    code, output = await reader.git("push", "origin", "main")

    assert (code != 0, await server.head(cloned)) == (True, before)
    assert "this API key may only read" in output
