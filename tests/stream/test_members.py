"""Members who are added and removed while their streams are open, and the plans of the queries behind it."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from websockets.exceptions import InvalidStatus

from omoi_os.accounts.models import User
from omoi_os.db.base import Sessions
from omoi_os.stream import reader
from omoi_os.stream.position import BEGINNING
from omoi_os.tickets.models import Ticket
from omoi_os.visibility import visible_to
from tests.builders import a_project, a_user
from tests.stream.servers import Person, Place, Server, a_person, a_place, hear_until, numbers


async def set_role(owner: httpx.AsyncClient, place: Place, person: Person, role: str) -> None:
    body = {"user_id": str(person.user.id), "role": role}
    answer = await owner.post(f"/projects/{place.project_id}/members", json=body)
    assert answer.status_code in (200, 201), answer.text


async def remove(owner: httpx.AsyncClient, place: Place, person: Person) -> None:
    answer = await owner.delete(f"/projects/{place.project_id}/members/{person.user.id}")
    assert answer.status_code == 204, answer.text


async def test_an_open_stream_follows_the_members_of_a_project(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    shared, own = await a_place(sessions, ada), await a_place(sessions, bob)

    def is_message_of(place: Place) -> Any:
        return lambda item: item["sandbox_id"] == place.sandbox_id and item["data"].get("event_type") == "agent.message"

    async with server.listen(bob.token) as socket, server.client(ada.token) as owner:
        await shared.post(owner, 1)
        await own.post(owner, 1)
        before = await hear_until(socket, is_message_of(own))
        await set_role(owner, shared, bob, "viewer")
        await shared.post(owner, 2)
        during = await hear_until(socket, lambda item: item["data"].get("event_data", {}).get("n") == 3)
        await remove(owner, shared, bob)
        await shared.post(owner, 2)
        await own.post(owner, 1)
        after = await hear_until(socket, is_message_of(own))

    assert numbers(before, shared.sandbox_id) == []
    assert len(numbers(during, shared.sandbox_id)) == 2
    assert numbers(after, shared.sandbox_id) == []


async def test_a_new_member_also_receives_what_came_before_they_were_added(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    place = await a_place(sessions, ada)
    async with server.client(ada.token) as owner, server.client(bob.token) as client:
        since = (await client.get("/auth/me")).json()["position"]
        # Keeps the process reading, so that it holds the events in memory with their first audience.
        async with server.listen(ada.token) as kept:
            await place.post(owner, 1)
            await hear_until(kept, lambda item: item["type"] == "sandbox.event")
            await set_role(owner, place, bob, "viewer")
            async with server.listen(bob.token, since=since) as socket:
                heard = await hear_until(socket, lambda item: item["data"].get("event_type") == "agent.message")

    assert len(numbers(heard, place.sandbox_id)) >= 1


async def test_the_events_of_one_sandbox_end_when_the_member_is_removed(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    place = await a_place(sessions, ada)
    path = f"/sandboxes/{place.sandbox_id}/events/stream"
    async with server.client(ada.token) as owner, server.client(bob.token) as client, asyncio.timeout(10):
        await set_role(owner, place, bob, "viewer")
        async with client.stream("GET", path) as response:
            chunks = response.aiter_bytes()
            assert (await anext(chunks)).startswith(b"id: 1")
            await remove(owner, place, bob)
            # Nothing is posted: the removal itself ends the response.
            assert [chunk async for chunk in chunks] == []
        assert (await client.get(path)).status_code == 404


async def test_a_removed_member_subscribes_to_the_project_no_more(server: Server, sessions: Sessions) -> None:
    ada, bob = await a_person(sessions), await a_person(sessions)
    place = await a_place(sessions, ada)
    async with server.client(ada.token) as owner:
        await set_role(owner, place, bob, "maintainer")
        async with server.listen(bob.token, project_id=place.project_id):
            pass
        await remove(owner, place, bob)
        named: dict[str, Any]
        for named in ({"project_id": place.project_id}, {"sandbox_id": place.sandbox_id}):
            with pytest.raises(InvalidStatus) as refused:
                await server.listen(bob.token, query=named)
            assert refused.value.response.status_code == 404


async def many_projects(session: AsyncSession) -> User:
    """A user who is a member of three of 2,000 projects with 40,000 tickets and outbox rows, newest last."""
    user = await a_user(session)
    first = await a_project(session)
    parameters = {"user": user.id, "owner": first.created_by}
    for statement in (
        "INSERT INTO projects (id, name, default_branch, forge, settings, created_by)"
        " SELECT gen_random_uuid(), n::text, 'main', 'local', '{}', :owner FROM generate_series(1, 2000) n",
        "INSERT INTO project_members (project_id, user_id, role) SELECT id, created_by, 'owner' FROM projects"
        " ON CONFLICT DO NOTHING",
        "INSERT INTO project_members (project_id, user_id, role) SELECT id, :user, 'viewer' FROM projects LIMIT 3",
        "INSERT INTO tickets (id, project_id, title, description, priority, ticket_type, workflow_mode, status,"
        " acceptance, created_by) SELECT gen_random_uuid(), id, '', '', 'LOW', 'bug', 'quick', 'done', '[]', :owner"
        " FROM projects, generate_series(1, 20)",
        "INSERT INTO outbox (xid, change, project_id, data) SELECT 1, 'task.status', id, '{}'"
        " FROM projects, generate_series(1, 20)",
    ):
        used = {name: value for name, value in parameters.items() if f":{name}" in statement}
        await session.execute(text(statement), used)
    await session.commit()
    await session.execute(text("ANALYZE"))
    return user


async def explain(session: AsyncSession, statement: str, parameters: dict[str, Any]) -> str:
    rows = await session.execute(text(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {statement}"), parameters)
    return "\n".join(rows.scalars())


async def test_lists_and_the_stream_scan_no_table_to_find_what_is_visible(session: AsyncSession) -> None:
    user = await many_projects(session)

    page = Ticket.__table__.select().where(visible_to(user, Ticket.project_id)).order_by(Ticket.id.desc()).limit(50)
    dialect = (await session.connection()).dialect
    listed = str(page.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    plan = await explain(session, listed.replace("%%", "%"), {})
    assert "ix_project_members_user_id_project_id" in plan
    assert "Seq Scan" not in plan, plan

    statement = reader._READ.text
    filters = {"sandbox_id": None, "project_id": None, "types": None}
    for viewer in (user.id, None):
        parameters = {**BEGINNING._asdict(), **filters, "viewer": viewer, "foreign": [], "rows": 500, "bytes": 1 << 22}
        plan = await explain(session, statement, parameters)
        assert "Seq Scan on project_members" not in plan, plan
        assert "Seq Scan on projects" not in plan, plan
        assert "Seq Scan on outbox" not in plan, plan
