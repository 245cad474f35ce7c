"""A body that is not JSON is refused on every route that takes one."""

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from omoi_os.http.bodies import BadJson
from tests.api.conftest import Worker
from tests.tasks.test_routes import fail


def test_no_route_takes_a_body_that_is_not_json(app: FastAPI) -> None:
    routes = [route for route in app.routes if isinstance(route, APIRoute) and route.body_field is not None]

    assert len(routes) > 10
    for route in routes:
        assert route.body_field is not None
        _, errors = route.body_field.validate(BadJson("x"), {}, loc=("body",))
        assert errors, route.path


@pytest.mark.parametrize("body", [b"{", b'{"name": "new"', b'{"name": NaN}', b'{"name": "\xff"}', b"[", b"nul"])
async def test_a_change_that_cannot_be_read_changes_nothing(ada: httpx.AsyncClient, body: bytes) -> None:
    path = f"/projects/{(await ada.post('/projects', json={'name': 'old'})).json()['id']}"

    answer = await ada.patch(path, content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("the body is not valid JSON: ")
    assert (await ada.get(path)).json()["name"] == "old"


async def test_a_retry_that_cannot_be_read_retries_nothing(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    path = f"/tasks/{worker.task_id}"
    await fail(app, worker.task_id)

    answer = await ada.post(f"{path}/retry", content=b'{"message": ', headers={"Content-Type": "application/json"})

    assert answer.status_code == 422
    assert (await ada.get(path)).json()["status"] == "failed"
