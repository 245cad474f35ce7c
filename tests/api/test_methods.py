"""405 names in `Allow` exactly what is possible at a place."""

import httpx
from fastapi import FastAPI

from tests.api.conftest import Worker

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
#: It does not end by itself.
ENDLESS = "/events/stream"


async def test_allow_is_what_does_not_answer_405(app: FastAPI, admin: httpx.AsyncClient, worker: Worker) -> None:
    paths = [
        path.replace("{sandbox_id}", worker.id).replace("{event_id}", "x").replace("{sha256}", "0" * 64)
        for path in app.openapi()["paths"]
        if not path.endswith(ENDLESS)
    ]
    for path in [*paths, "/sign-in", "/", "/docs", "/openapi.json", "/api/v1/sandboxes/health"]:
        answers = {}
        for method in METHODS:
            target = httpx.URL("http://omoi" + path.replace("{", "").replace("}", ""))
            answers[method] = await admin.request(method, target, content=b"{", headers={"Content-Type": "text/plain"})
        possible = {method for method, answer in answers.items() if answer.status_code != 405}
        for method, answer in answers.items():
            if answer.status_code == 405:
                allowed = {name.strip() for name in answer.headers["Allow"].split(",")}
                assert allowed == possible, (method, path, possible, allowed)
