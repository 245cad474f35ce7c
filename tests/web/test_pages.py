"""The page as it is served to a browser."""

from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.web.pages import Pages
from tests.api.conftest import calling
from tests.web.conftest import INDEX, SCRIPT

PLACES = [
    "/",
    "/board",
    "/sandboxes",
    "/sandbox/omoios-1f0d2b6c-a3b4c5",
    "/sandbox/new",
    "/activity",
    "/health-overview",
    "/tickets/01890a5d-ac96-774b-bcce-b302099a8057",
    "/index.html",
    "/apis",
]


@pytest.mark.parametrize("path", PLACES)
async def test_every_address_of_the_page_is_its_document(visitor: httpx.AsyncClient, path: str) -> None:
    answer = await visitor.get(path)

    assert (answer.status_code, answer.content) == (200, INDEX)
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"


async def test_the_document_runs_only_its_own_scripts_and_is_shown_in_no_frame(visitor: httpx.AsyncClient) -> None:
    headers = (await visitor.get("/sandbox/x")).headers

    assert "script-src 'self' 'sha256-" in headers["content-security-policy"]
    assert "'unsafe-inline'" not in headers["content-security-policy"].partition("style-src")[0]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]


async def test_a_file_that_a_browser_has_is_not_sent_again(visitor: httpx.AsyncClient) -> None:
    for path in ("/", "/assets/index-abc.js", "/favicon.svg"):
        first = await visitor.get(path)
        again = await visitor.get(path, headers={"If-None-Match": first.headers["etag"]})

        assert (again.status_code, again.content) == (304, b"")


async def test_a_hashed_asset_is_cached_forever_and_others_are_revalidated(visitor: httpx.AsyncClient) -> None:
    kept = [(await visitor.get(path)).headers for path in ("/assets/index-abc.js", "/assets/index-abc.css")]
    asked = (await visitor.get("/favicon.svg")).headers

    assert [headers["content-type"].partition(";")[0] for headers in kept] == ["text/javascript", "text/css"]
    assert all("immutable" in headers["cache-control"] for headers in kept)
    assert (asked["content-type"], asked["cache-control"]) == ("image/svg+xml", "no-cache")


@pytest.mark.parametrize(("accepted", "sent"), [("gzip, br", "gzip"), ("identity", None), ("gzip;q=0", None)])
async def test_an_asset_is_sent_compressed_to_clients_that_accept_it(
    visitor: httpx.AsyncClient, accepted: str, sent: str | None
) -> None:
    for path, content in (("/assets/index-abc.js", SCRIPT), ("/", INDEX)):
        answer = await visitor.get(path, headers={"Accept-Encoding": accepted})

        assert answer.headers.get("content-encoding") == sent
        assert answer.content == content
        assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        "/assets/missing.js",
        "/favicon.ico",
        "/.stamp",
        "/assets/../.stamp",
        "/assets/%2e%2e/%2e%2e/conftest.py",
        "/..%2f..%2fetc/passwd.txt",
        "/assets/%00.js",
        "/assets/index-abc.js.gz",
        "/api/v1/nothing",
        "/api/nothing.js",
        "/api",
        "/docs/nothing",
    ],
)
async def test_a_path_that_is_not_the_page_s_is_answered_with_a_problem(visitor: httpx.AsyncClient, path: str) -> None:
    answer = await visitor.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_other_places_and_methods_keep_their_answers(visitor: httpx.AsyncClient, ada: httpx.AsyncClient) -> None:
    assert (await visitor.get("/health")).json() == {"status": "ok"}
    assert (await visitor.get("/openapi.json")).json()["info"]["title"] == "OmoiOS"
    assert (await visitor.get("/metrics")).status_code == 401
    assert "openapi.json" in (await visitor.get("/docs")).text
    assert (await visitor.post("/board")).status_code == 404
    assert (await ada.put("/projects", json={})).status_code == 405
    assert (await visitor.head("/board")).status_code == 200


async def test_a_newer_build_is_served_without_a_restart(visitor: httpx.AsyncClient, static: Path) -> None:
    await visitor.get("/")
    (static / "index.html").write_bytes(INDEX + b"<!-- newer -->")

    assert (await visitor.get("/")).content.endswith(b"<!-- newer -->")


async def test_without_a_build_the_answer_says_how_to_build_the_page(app: FastAPI, tmp_path: Path) -> None:
    pages = app.router.default
    assert isinstance(pages, Pages)
    app.router.default = Pages(pages.otherwise, tmp_path / "none")
    async with calling(app, base="http://omoi") as visitor:
        answer = await visitor.get("/sandbox/x")

    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert "<code>make setup</code>" in answer.text
