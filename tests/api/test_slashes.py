"""A trailing slash leads to the path without it."""

import httpx
import pytest
from fastapi import FastAPI

from tests.api.conftest import calling


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/api/v1/tickets/", "/api/v1/tickets"),
        ("/api/v1/tickets/?limit=2&status=done", "/api/v1/tickets?limit=2&status=done"),
        ("/api/v1/tickets//", "/api/v1/tickets"),
        ("/api/v1/sandboxes/a%20b/", "/api/v1/sandboxes/a%20b"),
        ("/health/", "/health"),
        ("/docs/", "/docs"),
    ],
)
async def test_a_trailing_slash_redirects_on_the_same_host(app: FastAPI, path: str, location: str) -> None:
    async with calling(app, base="http://omoi") as root:
        answer = await root.get(path)

    assert (answer.status_code, answer.headers["location"]) == (307, location)


async def test_a_redirected_creation_keeps_its_method_and_body(ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/projects/", json={"name": "x"}, follow_redirects=True)

    assert (answer.status_code, answer.json()["name"]) == (201, "x")


@pytest.mark.parametrize(
    "path",
    ["/api/v1/nothing/", "//evil.example/", "//evil.example/api/v1/tickets/", "/api/v1/", "/api/v1/sandboxes/x%2f"],
)
async def test_a_path_without_a_route_does_not_redirect(app: FastAPI, path: str) -> None:
    async with calling(app) as client:
        request = client.build_request("POST", "http://omoi/")
        request.url = request.url.copy_with(raw_path=path.encode())
        answer = await client.send(request)

    assert answer.status_code == 404
