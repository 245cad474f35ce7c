"""Members of projects over HTTP: roles, the last owner, and what a role allows."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.db.base import Sessions
from tests.api.conftest import a_key, calling, post_ticket

BOB = "bob@example.org"
NOBODY = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.fixture
async def project(ada: httpx.AsyncClient) -> str:
    """A project of Ada's."""
    made: str = (await ada.post("/projects", json={"name": "hers"})).json()["id"]
    return made


@pytest.fixture
async def cleo(app: FastAPI, sessions: Sessions) -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app, await a_key(sessions, "cleo")) as client:
        yield client


async def my_id(client: httpx.AsyncClient) -> str:
    return str((await client.get("/auth/me")).json()["id"])


async def add(owner: httpx.AsyncClient, project: str, email: str, role: str) -> httpx.Response:
    return await owner.post(f"/projects/{project}/members", json={"email": email, "role": role})


async def roles(client: httpx.AsyncClient, project: str) -> dict[str, str]:
    answer = await client.get(f"/projects/{project}/members")
    assert answer.status_code == 200, answer.text
    return {member["email"]: member["role"] for member in answer.json()["items"]}


async def test_the_creator_is_the_owner(ada: httpx.AsyncClient, project: str) -> None:
    assert await roles(ada, project) == {"ada@example.org": "owner"}
    assert (await ada.get(f"/projects/{project}")).json()["role"] == "owner"


@pytest.mark.parametrize("role", ["viewer", "maintainer", "owner"])
async def test_a_member_sees_the_project_at_once_with_their_role(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, project: str, role: str
) -> None:
    assert (await bob.get(f"/projects/{project}")).status_code == 404

    added = await add(ada, project, BOB, role)

    assert (added.status_code, added.json()["role"], added.json()["email"]) == (201, role, BOB)
    assert (await bob.get(f"/projects/{project}")).json()["role"] == role
    assert [item["role"] for item in (await bob.get("/projects")).json()["items"]] == [role]
    assert await roles(bob, project) == {"ada@example.org": "owner", BOB: role}


async def test_adding_a_member_again_changes_their_role(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, project: str
) -> None:
    await add(ada, project, BOB, "viewer")

    changed = await ada.post(f"/projects/{project}/members", json={"user_id": await my_id(bob), "role": "OWNER"})

    assert (changed.status_code, changed.json()["role"]) == (200, "owner")
    assert (await bob.patch(f"/projects/{project}", json={"name": "theirs"})).json()["role"] == "owner"


async def test_a_removed_member_sees_nothing_more_and_their_work_stays(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, project: str
) -> None:
    await add(ada, project, BOB, "maintainer")
    ticket = (await bob.post("/tickets", json={"title": "Add a page", "project_id": project})).json()["id"]

    assert (await ada.delete(f"/projects/{project}/members/{await my_id(bob)}")).status_code == 204

    assert (await bob.get(f"/projects/{project}")).status_code == 404
    assert (await bob.get(f"/tickets/{ticket}")).status_code == 404
    assert (await bob.get("/tickets")).json()["items"] == []
    assert (await ada.get(f"/tickets/{ticket}")).status_code == 200
    assert (await ada.delete(f"/projects/{project}/members/{await my_id(bob)}")).status_code == 404


async def test_the_last_owner_is_neither_removed_nor_downgraded(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, project: str
) -> None:
    me = await my_id(ada)
    await add(ada, project, BOB, "maintainer")

    for who in (ada, admin):
        refused = await who.delete(f"/projects/{project}/members/{me}")
        assert refused.status_code == 409
        assert "is the last owner" in refused.json()["detail"]
        assert (await add(who, project, "ada@example.org", "viewer")).status_code == 409

    await add(ada, project, BOB, "owner")
    assert (await add(ada, project, "ada@example.org", "viewer")).status_code == 200
    assert (await bob.delete(f"/projects/{project}/members/{await my_id(bob)}")).status_code == 409
    assert await roles(bob, project) == {"ada@example.org": "viewer", BOB: "owner"}


async def test_a_deactivated_owner_does_not_count(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, project: str
) -> None:
    await add(ada, project, BOB, "owner")
    await admin.delete(f"/users/{await my_id(bob)}")

    assert (await ada.delete(f"/projects/{project}/members/{await my_id(ada)}")).status_code == 409


async def test_two_owners_cannot_remove_each_other_at_once(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, project: str
) -> None:
    await add(ada, project, BOB, "owner")
    path = f"/projects/{project}/members"
    ids = [await my_id(ada), await my_id(bob)]

    answers = await asyncio.gather(bob.delete(f"{path}/{ids[0]}"), ada.delete(f"{path}/{ids[1]}"))

    assert sorted(answer.status_code for answer in answers) in ([204, 403], [204, 404], [204, 409])
    assert list((await roles(admin, project)).values()) == ["owner"]


async def test_everybody_can_leave_and_only_owners_remove_others(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, cleo: httpx.AsyncClient, project: str
) -> None:
    await add(ada, project, BOB, "maintainer")
    await add(ada, project, "cleo@example.org", "viewer")
    path = f"/projects/{project}/members"

    for who in (bob, cleo):
        assert (await who.delete(f"{path}/{await my_id(ada)}")).status_code == 403
        assert (await add(who, project, BOB, "owner")).status_code == 403
    assert (await cleo.delete(f"{path}/{await my_id(cleo)}")).status_code == 204
    assert (await cleo.get(path)).status_code == 404


async def test_an_unknown_or_deactivated_user_is_not_added(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, project: str
) -> None:
    path = f"/projects/{project}/members"
    await admin.delete(f"/users/{await my_id(bob)}")

    for body in (
        {"email": "nobody@example.org", "role": "viewer"},
        {"user_id": NOBODY, "role": "viewer"},
        {"email": BOB, "role": "viewer"},
        {"email": BOB, "user_id": NOBODY, "role": "viewer"},
        {"role": "viewer"},
        {"email": BOB},
        {"email": BOB, "role": "god"},
    ):
        assert (await ada.post(path, json=body)).status_code == 422, body
    assert await roles(ada, project) == {"ada@example.org": "owner"}


async def test_members_are_paged(app: FastAPI, ada: httpx.AsyncClient, project: str, sessions: Sessions) -> None:
    names = [f"member{number}" for number in range(4)]
    for name in names:
        await a_key(sessions, name)
        await add(ada, project, f"{name}@example.org", "viewer")

    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await ada.get(f"/projects/{project}/members", params={"limit": "2"} | cursor)).json()
        seen += [member["name"] for member in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert seen == ["ada", *names]


async def test_every_change_of_members_is_in_the_audit_trail(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, admin: httpx.AsyncClient, project: str
) -> None:
    await add(ada, project, BOB, "viewer")
    await add(ada, project, BOB, "viewer")
    await add(ada, project, BOB, "maintainer")
    await ada.delete(f"/projects/{project}/members/{await my_id(bob)}")

    entries = list(reversed((await admin.get("/audit")).json()["items"]))
    assert [entry["kind"] for entry in entries] == ["member_added", "member_changed", "member_removed"]
    assert {(entry["actor_id"], entry["subject"]) for entry in entries} == {("ada@example.org", BOB)}
    assert all(project in entry["detail"] for entry in entries)


async def test_an_administrator_manages_every_project(
    admin: httpx.AsyncClient, bob: httpx.AsyncClient, project: str
) -> None:
    assert (await admin.get(f"/projects/{project}")).json()["role"] == "owner"
    assert (await add(admin, project, BOB, "viewer")).status_code == 201
    assert (await bob.get(f"/projects/{project}")).status_code == 200


async def test_a_ticket_by_repository_finds_the_project_that_one_may_see(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, cleo: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    first = await post_ticket(ada)
    assert first["project_created"] is True
    assert (await post_ticket(ada, title="More"))["project_created"] is False
    await add(ada, first["project_id"], BOB, "maintainer")
    await add(ada, first["project_id"], "cleo@example.org", "viewer")

    second = await post_ticket(bob, title="Another")
    refused = await cleo.post("/tickets", json={"title": "x", "github_owner": "kivo360", "github_repo": "OmoiOS"})
    third = await post_ticket(admin, title="A third")

    assert (second["project_id"], second["project_created"]) == (first["project_id"], False)
    assert (third["project_id"], third["project_created"]) == (first["project_id"], False)
    assert refused.status_code == 403
    assert (await cleo.get("/projects")).json()["items"][0]["id"] == first["project_id"]


async def test_the_own_project_comes_before_one_that_one_belongs_to(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    older, own = await post_ticket(ada), await post_ticket(bob)
    assert own["project_created"] is True
    await add(ada, older["project_id"], BOB, "maintainer")

    assert (await post_ticket(bob, title="More"))["project_id"] == own["project_id"]


async def test_a_creator_who_was_removed_gets_no_second_project_on_the_repository(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    ticket = await post_ticket(ada)
    await add(ada, ticket["project_id"], BOB, "owner")
    await bob.delete(f"/projects/{ticket['project_id']}/members/{await my_id(ada)}")

    refused = await ada.post("/tickets", json={"title": "x", "github_owner": "kivo360", "github_repo": "OmoiOS"})

    assert refused.status_code == 409
    assert "no longer a member" in refused.json()["detail"]
    assert ticket["project_id"] not in refused.text
