"""Projects over HTTP."""

import asyncio
import subprocess
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.projects.models import Project
from tests.api.conftest import post_ticket

REPOSITORY = {"github_owner": "kivo360", "github_repo": "OmoiOS"}


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


async def test_a_project_is_made_with_defaults_and_shown(ada: httpx.AsyncClient) -> None:
    made = await ada.post("/projects", json={"name": "Tools", **REPOSITORY})
    shown = await ada.get(f"/projects/{made.json()['id']}")

    assert made.status_code == 201
    assert shown.json() == made.json()
    assert made.json()["settings"] == {
        "max_concurrent_tasks": 5,
        "budget_usd": None,
        "acceptance": [],
        "provider": None,
        "retention_days": None,
        "model_features": [],
        "weight": 1,
    }
    assert (made.json()["forge"], made.json()["default_branch"]) == ("local", "main")


async def test_a_project_names_its_clone_url(ada: httpx.AsyncClient) -> None:
    made = (await ada.post("/projects", json={"name": "Tools"})).json()
    listed = (await ada.get("/projects")).json()["items"]

    assert made["clone_url"] == f"http://127.0.0.1:18000/git/{made['id']}.git"
    assert [project["clone_url"] for project in listed] == [made["clone_url"]]


async def test_only_an_administrator_changes_a_project_s_weight(
    ada: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    refused = await ada.post("/projects", json={"name": "Tools", "settings": {"weight": 100}})
    project = (await ada.post("/projects", json={"name": "Tools", "settings": {"weight": 1}})).json()["id"]
    patched = await ada.patch(f"/projects/{project}", json={"settings": {"weight": 2}})
    raised = await admin.patch(f"/projects/{project}", json={"settings": {"weight": 2}})
    kept = await ada.patch(f"/projects/{project}", json={"settings": {"weight": 2, "max_concurrent_tasks": 3}})

    assert (refused.status_code, patched.status_code) == (403, 403)
    assert "settings.weight" in patched.json()["detail"]
    assert (raised.json()["settings"]["weight"], kept.status_code) == (2, 200)


async def test_the_name_comes_from_the_repository_if_left_out(ada: httpx.AsyncClient) -> None:
    assert (await ada.post("/projects", json=REPOSITORY)).json()["name"] == "OmoiOS"


async def test_the_same_repository_again_is_a_conflict_that_names_the_first(ada: httpx.AsyncClient) -> None:
    first = (await ada.post("/projects", json=REPOSITORY)).json()["id"]
    again = await ada.post("/projects", json=REPOSITORY)

    assert again.status_code == 409
    assert first in again.json()["detail"]


async def test_of_many_at_once_on_one_repository_one_is_made(ada: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(ada.post("/projects", json=REPOSITORY) for _ in range(8)))

    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    assert len((await ada.get("/projects")).json()["items"]) == 1


async def test_two_users_have_their_own_projects_on_one_repository(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    assert [(await who.post("/projects", json=REPOSITORY)).status_code for who in (ada, bob)] == [201, 201]


async def test_a_project_is_found_by_its_repository(ada: httpx.AsyncClient) -> None:
    made = (await ada.post("/projects", json=REPOSITORY)).json()
    await ada.post("/projects", json=REPOSITORY | {"github_repo": "other"})

    found = (await ada.get("/projects", params=REPOSITORY)).json()

    assert [item["id"] for item in found["items"]] == [made["id"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "  "},
        {"name": "x\ny"},
        {"name": "x\u0000"},
        {"name": "x", "github_owner": "kivo360"},
        {"name": "x", "github_owner": "-x", "github_repo": "y"},
        {"name": "x", "github_owner": "..", "github_repo": "y"},
        {"name": "x", "github_owner": "a/b", "github_repo": "y"},
        {"name": "x", "github_owner": "a", "github_repo": "$(id)"},
        {"name": "x", "default_branch": "-x"},
        {"name": "x", "default_branch": "a..b"},
        {"name": "x", "default_branch": "a/$(id)"},
        {"name": "x", "default_branch": "a.lock"},
        {"name": "x", "forge": "github"},
        {"name": "x", "forge": "svn"},
        {"name": "x", "repo_url": "ext::sh -c id"},
        {"name": "x", "repo_url": "https://example.org/x.git"},
        {"name": "x", "settings": {"max_concurrent_tasks": 0}},
        {"name": "x", "settings": {"budget_usd": -1}},
        {"name": "x", "settings": {"acceptance": [" "]}},
        {"name": "x", "settings": {"surprise": 1}},
        {"name": "x", "settings": {"model_features": ["everything"]}},
        {"name": "x", "created_by": str(uuid4())},
    ],
)
async def test_bad_input_is_refused_with_a_sentence(ada: httpx.AsyncClient, body: dict[str, object]) -> None:
    answer = await ada.post("/projects", json=body)

    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert (await ada.get("/projects")).json()["items"] == []


RESERVED = ["egress_allow", "egress_record", "env", "on_verified", "registries", "setup", "scope", "model"]


@pytest.mark.parametrize("name", RESERVED)
async def test_a_reserved_setting_is_refused_by_name(ada: httpx.AsyncClient, name: str) -> None:
    project = (await ada.post("/projects", json={"name": "x"})).json()
    for answer in (
        await ada.post("/projects", json={"name": "y", "settings": {name: []}}),
        await ada.patch(f"/projects/{project['id']}", json={"settings": {name: []}}),
    ):
        assert answer.status_code == 422
        assert answer.json()["detail"] == f"settings.{name}: is not available yet; leave it out"


async def test_stored_settings_of_another_version_still_load(ada: httpx.AsyncClient, sessions: Sessions) -> None:
    made = (await ada.post("/projects", json={"name": "x"})).json()
    async with sessions.begin() as session:
        project = await session.get_one(Project, UUID(made["id"]))
        project.settings = project.settings | {"egress_allow": ["pypi.org"], "acceptance": ["make test"]}

    shown = (await ada.get(f"/projects/{made['id']}")).json()

    assert shown["settings"]["acceptance"] == ["make test"]
    assert "egress_allow" not in shown["settings"]
    changed = await ada.patch(f"/projects/{made['id']}", json={"settings": {"max_concurrent_tasks": 2}})
    assert changed.json()["settings"] == made["settings"] | {"acceptance": ["make test"], "max_concurrent_tasks": 2}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("github", "forge 'github' is not available yet; use local"),
        ("git", "forge 'git' is not available yet; use local"),
        ("svn", "forge 'svn' does not exist; use local"),
    ],
)
async def test_a_forge_that_is_not_registered_is_refused_by_name(
    ada: httpx.AsyncClient, name: str, reason: str
) -> None:
    answer = await ada.post("/projects", json={"name": "x", "forge": name})

    assert (answer.status_code, reason in answer.json()["detail"]) == (422, True)


async def test_a_forge_is_named_in_any_case(ada: httpx.AsyncClient) -> None:
    assert (await ada.post("/projects", json={"name": "x", "forge": "LOCAL"})).json()["forge"] == "local"


async def test_a_stored_project_of_a_reserved_forge_is_still_shown(
    ada: httpx.AsyncClient, session: AsyncSession
) -> None:
    made = (await ada.post("/projects", json={"name": "x"})).json()
    await session.execute(update(Project).where(Project.id == UUID(made["id"])).values(forge="github"))
    await session.commit()

    assert (await ada.get(f"/projects/{made['id']}")).json()["forge"] == "github"


async def test_only_what_is_given_is_changed(ada: httpx.AsyncClient) -> None:
    settings = {"acceptance": ["make test"], "max_concurrent_tasks": 3}
    path = f"/projects/{(await ada.post('/projects', json={'name': 'x', 'settings': settings})).json()['id']}"

    changed = (await ada.patch(path, json={"settings": {"max_concurrent_tasks": 1}, "description": "new"})).json()

    assert changed["settings"] == {
        "max_concurrent_tasks": 1,
        "budget_usd": None,
        "acceptance": ["make test"],
        "provider": None,
        "retention_days": None,
        "model_features": [],
        "weight": 1,
    }
    assert (changed["name"], changed["description"]) == ("x", "new")
    assert (await ada.get(path)).json() == changed
    assert (await ada.patch(path, json={"name": None})).status_code == 422
    assert (await ada.patch(path, json={"forge": "github"})).status_code == 422


async def test_a_deleted_project_is_gone_and_its_repository_free_again(ada: httpx.AsyncClient) -> None:
    path = f"/projects/{(await ada.post('/projects', json=REPOSITORY)).json()['id']}"

    assert (await ada.delete(path)).status_code == 204
    assert (await ada.get(path)).status_code == 404
    assert (await ada.delete(path)).status_code == 404
    assert (await ada.get("/projects")).json()["items"] == []
    assert (await ada.post("/projects", json=REPOSITORY)).status_code == 201


async def test_a_project_with_open_tasks_is_not_deleted(ada: httpx.AsyncClient) -> None:
    ticket = await post_ticket(ada)
    path = f"/projects/{ticket['project_id']}"

    assert (await ada.delete(path)).status_code == 409
    await ada.patch(f"/tickets/{ticket['id']}", json={"status": "cancelled"})
    assert (await ada.delete(path)).status_code == 204
    assert (await ada.get(f"/tickets/{ticket['id']}")).status_code == 200


async def test_only_an_administrator_begins_from_a_folder_of_this_machine(
    admin: httpx.AsyncClient, ada: httpx.AsyncClient, short_tmp: Path
) -> None:
    make_repository(short_tmp)
    body = {"name": "x", "repo_url": str(short_tmp)}

    assert (await ada.post("/projects", json=body)).status_code == 403
    assert (await admin.post("/projects", json=body)).json()["repo_url"] == str(short_tmp.resolve())


async def test_the_data_folder_and_what_is_no_repository_are_no_beginning(
    admin: httpx.AsyncClient, settings: Settings, short_tmp: Path
) -> None:
    inside = settings.data_dir / "repos" / "x"
    make_repository(inside)
    (short_tmp / "link").symlink_to(inside)

    for path in (inside, short_tmp / "link", short_tmp, short_tmp / "nothing", "/a\u0000b"):
        assert (await admin.post("/projects", json={"name": "x", "repo_url": str(path)})).status_code == 422


async def test_only_an_administrator_chooses_the_provider(ada: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
    body = {"name": "x", "settings": {"provider": "docker"}}

    assert (await ada.post("/projects", json=body)).status_code == 403
    path = f"/projects/{(await ada.post('/projects', json={'name': 'x'})).json()['id']}"
    assert (await ada.patch(path, json={"settings": {"provider": "docker"}})).status_code == 403
    assert (await admin.patch(path, json={"settings": {"provider": "docker"}})).status_code == 200
    assert (await ada.patch(path, json={"settings": {"provider": "docker"}, "name": "y"})).status_code == 200
