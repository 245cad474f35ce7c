"""Pushes by people against quotas, a task that starts meanwhile, and a server that is killed."""

import asyncio
import os
import signal
import subprocess
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import func, select

from omoi_os.audit.models import AuditEntry
from omoi_os.db.base import Sessions
from omoi_os.forges.bare import git
from omoi_os.forges.local.branch_lock import hold
from omoi_os.http.wire import HEAD_SECONDS
from omoi_os.tasks.lifecycle import TaskState
from tests.api.git.people import Person, Server
from tests.api_process import ApiProcess

#: How often the server is killed while it receives pushes.
KILLS = int(os.environ.get("PUSH_KILLS", "4"))


@pytest.fixture
async def own(short_tmp: Path, tmp_path: Path, database_url: str, sessions: Sessions) -> AsyncIterator[Server]:
    """A server of this test's own, which may die."""
    api = ApiProcess(short_tmp, database_url)
    made = Server(api, sessions, tmp_path)
    await made.claim()
    try:
        await api.start()
        yield made
    finally:
        api.kill()


@pytest.fixture
async def small(own: Server) -> Server:
    """A server on which the repository of a project may have 32 MB."""
    own.api.kill()
    await own.api.start(OMOI_PROJECT_REPOSITORY_GB="0.03125")
    return own


async def test_a_push_beyond_the_quota_changes_nothing(small: Server) -> None:
    person = await small.person()
    await person.clone()
    kept = await person.commit("small.bin", os.urandom(1 << 20))
    assert (await person.git("push", "-q", "origin", "main")) == (0, "")  # positive control
    await person.commit("large.bin", os.urandom(48 << 20))

    code, output = await person.git("push", "origin", "main")

    assert (code != 0, await small.head(person)) == (True, kept)
    assert "pack exceeds maximum allowed size" in output
    packs = small.repository(person) / "objects"
    assert sum(file.stat().st_size for file in packs.rglob("*") if file.is_file()) < 4 << 20


async def test_a_full_repository_says_so(small: Server) -> None:
    person = await small.person()
    await person.clone()
    (small.repository(person) / "objects" / "pack" / "large.bin").write_bytes(bytes(33 << 20))
    await person.commit("more.txt")

    code, output = await person.git("push", "origin", "main")

    assert code != 0
    assert "has used up its quota" in output


async def test_a_push_that_ends_after_its_branch_was_assigned_changes_nothing(own: Server) -> None:
    person = await own.person()
    await person.clone()
    branch = "refs/heads/feature/raced"
    assert (await person.git("push", "-q", "origin", f"HEAD:{branch}")) == (0, "")
    task_id = await own.task(person, TaskState.PENDING, "feature/raced")
    old = await own.head(person, branch)
    new = await person.commit("late.txt")
    body, begun, go_on = the_push(person, str(old), new, branch), asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield body[:-40]
        begun.set()
        await go_on.wait()
        yield body[-40:]

    password = b64encode(f"me:{person.key}".encode()).decode()
    headers = {"Authorization": f"Basic {password}", "Content-Type": "application/x-git-receive-pack-request"}
    async with httpx.AsyncClient(timeout=60) as client:
        pushing = asyncio.create_task(client.post(f"{person.url}/git-receive-pack", content=slowly(), headers=headers))
        await begun.wait()
        await until_received(own.repository(person))
        await own.move(task_id, TaskState.ASSIGNED)
        go_on.set()
        answer = await pushing

    assert (f"task {task_id}, which is assigned" in answer.text, await own.head(person, branch)) == (True, old)
    await own.move(task_id, TaskState.FAILED)
    assert (await person.git("push", "-q", "origin", f"HEAD:{branch}")) == (0, "")


async def test_a_push_over_a_slow_connection_is_not_cut_off(own: Server) -> None:
    """The body of any other request of this size must arrive within `HEAD_SECONDS` and a little more."""
    person = await own.person()
    await person.clone()
    old, new = await own.head(person), await person.commit("slow.txt")
    body = the_push(person, str(old), new, "refs/heads/main")
    where = urlsplit(person.url)
    password = b64encode(f"me:{person.key}".encode()).decode()
    head = (
        f"POST {where.path}/git-receive-pack HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {password}\r\n"
        f"Content-Type: application/x-git-receive-pack-request\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    with closing(writer):
        writer.write(head.encode() + body[:-40])
        await until_received(own.repository(person))
        await asyncio.sleep(HEAD_SECONDS + 2)
        writer.write(body[-40:])
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        await reader.readuntil(b"ok refs/heads/main")

    assert await own.head(person) == new


async def test_a_push_waits_for_the_verifier_s_lock_and_moves_nothing_while_it_is_held(own: Server) -> None:
    person = await own.person()
    await person.clone()
    branch = "refs/heads/feature/held"
    assert (await person.git("push", "-q", "origin", f"HEAD:{branch}")) == (0, "")
    old = await own.head(person, branch)
    new = await person.commit("new.txt")

    async with hold(own.repository(person), branch, str(old)) as held:
        code, _ = await person.git("push", "-q", "origin", f"HEAD:{branch}")
        assert (held, code != 0, await own.head(person, branch)) == (True, True, old)

    assert (await person.git("push", "-q", "origin", f"HEAD:{branch}")) == (0, "")
    assert await own.head(person, branch) == new


async def test_a_server_that_is_killed_during_pushes_loses_none_that_it_acknowledged(own: Server) -> None:
    person = await own.person()
    await person.clone()
    acknowledged: list[str] = []
    for kill in range(KILLS):
        content = os.urandom(2 << 20)
        for number in range(8):
            commit = await person.commit(f"{kill}.bin", content + bytes([number]))
            pushing = await person.start("push", "-q", "origin", "main")
            if number == 7:
                # Kill it at a different moment of the push each time.
                await asyncio.sleep(0.05 * (kill + 1))
                assert own.api.process is not None
                own.api.process.send_signal(signal.SIGKILL)
                await own.api.ended()
            if await pushing.wait() == 0:
                acknowledged.append(commit)
        await own.api.start()

        head = await own.head(person)
        assert await git.run("fsck", "--connectivity-only", git_dir=own.repository(person)) is not None
        for commit in acknowledged:
            await git.run("merge-base", "--is-ancestor", commit, str(head), git_dir=own.repository(person))
    async with own.sessions() as session:
        query = select(func.count()).select_from(AuditEntry).where(AuditEntry.actor_id == person.email)
        audited = (await session.execute(query)).scalar_one()

    assert len(acknowledged) >= KILLS * 7
    assert audited >= len(acknowledged)
    commit = await person.commit("last.txt")
    assert (await person.git("push", "-q", "origin", "main")) == (0, "")
    assert await own.head(person) == commit


def the_push(person: Person, old: str, new: str, ref: str) -> bytes:
    """The request of a git client that moves the ref."""
    command = f"{old} {new} {ref}\0report-status side-band-64k object-format=sha1\n".encode()
    packing = ["git", "pack-objects", "--revs", "--stdout", "-q"]
    pack = subprocess.run(packing, cwd=person.folder, input=f"{new}\n^{old}\n".encode(), capture_output=True)
    return f"{len(command) + 4:04x}".encode() + command + b"0000" + pack.stdout


async def until_received(repository: Path) -> None:
    """Wait until git on the server reads the pack, so the push has passed the first check."""
    async with asyncio.timeout(60):
        while not [*repository.glob("objects/tmp_objdir-*"), *repository.glob("objects/incoming-*")]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
