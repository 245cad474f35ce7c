"""A person's credential on a whole platform: it pays for their tasks, and is found nowhere but encrypted."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from omoi_os.db import embedded
from omoi_os.db.base import plain_url
from omoi_os.masking import MASK
from omoi_os.scripted_model.headers import task_headers
from omoi_os.scripted_model.server import make_app
from tests.e2e.platform import Json, Platform

ADA, BOB = "canary-of-ada-0123456789abcdef", "canary-of-bob-0123456789abcdef"
#: The agent searches its sandbox, and prints what it cannot find there.
HUNT = r"""
match: hunt
steps:
  - tool: Bash
    input:
      command: |
        env CONTROL=canar""y-of-control cat /proc/self/environ | grep -ac 'canar[y]-of' > found
        cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c 'canar[y]-of' >> found
        grep -rsI 'canar[y]-of' "$HOME" /workspace /tmp /etc /run >> found
        printf 'printed: canary-%s\n' of-ada-0123456789abcdef
  - text: searched
"""


@dataclass
class ModelHost:
    """A host of models that plays scripts, keeps the keys it was called with, and may refuse and repeat them."""

    scripts: Path
    url: str = ""
    keys: list[str] = field(default_factory=list)
    refuses: bool = False

    @web.middleware
    async def record(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        key = request.headers.get("x-api-key", "")
        self.keys.append(key)
        if request.path == "/v1/models":
            return web.json_response({"data": []})
        if self.refuses:
            return web.json_response({"error": {"message": f"the key {key} is not valid"}}, status=401)
        return await handler(request.clone(headers={**request.headers, **task_headers("hunt", "")}))

    @contextlib.contextmanager
    def listening(self) -> Iterator["ModelHost"]:
        loop = asyncio.new_event_loop()
        app = make_app(self.scripts)
        app.middlewares.insert(0, self.record)
        runner = web.AppRunner(app)

        async def start() -> None:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()

        loop.run_until_complete(start())
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        thread = Thread(target=loop.run_forever)
        thread.start()
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[ModelHost]:
    (tmp_path / "hunt.yaml").write_text(HUNT)
    with ModelHost(tmp_path).listening() as made:
        yield made


@dataclass
class Person:
    """A member with an API key."""

    platform: Platform
    token: str

    @classmethod
    def joining(cls, platform: Platform, name: str) -> "Person":
        user = platform.post("/users", {"email": f"{name}@example.org", "name": name})
        return cls(platform, str(platform.post(f"/users/{user['id']}/api-keys", {"name": "laptop"})["key"]))

    def post(self, path: str, body: Json) -> Json:
        answer = self.platform.request("POST", path, self.token, json=body)
        assert answer.is_success, answer.text
        return dict(answer.json())

    def give(self, secret: str, host: ModelHost) -> Json:
        body = {"provider": "anthropic_compatible", "name": "Own", "secret": secret, "base_url": host.url}
        return self.post("/credentials", body)

    def work(self) -> Json:
        project = self.post("/projects", {"name": "project", "settings": {"acceptance": ["cat found"]}})
        ticket = self.post("/tickets", {"title": "Hunt for secrets", "project_id": project["id"]})
        return self.platform.finished(ticket["tasks"][0]["id"])


def places(platform: Platform) -> Iterator[tuple[str, bytes]]:
    """Everything that a platform leaves behind: rows, files, environments, histories and answers."""
    url = plain_url(embedded.url(platform.data_dir))
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f'SELECT t::text FROM "{table}" t'):
                yield f"table {table}", str(row[0]).encode()
    for path in (platform.log, *platform.data_dir.rglob("*")):
        with contextlib.suppress(OSError):
            if path.is_file():
                yield f"file {path}", path.read_bytes()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            for name in ("environ", "cmdline"):
                with contextlib.suppress(OSError):
                    yield f"process {entry.name} {name}", (entry / name).read_bytes()
    for project in platform.get("/projects")["items"]:
        yield "history", platform.git(project["id"], "log", "-p", "--all").encode()
    for listed in ("/credentials", "/audit", "/tasks", "/sandboxes", "/monitoring/overview", "/users"):
        yield f"answer {listed}", platform.request("GET", listed).content
    for sandbox in platform.get("/sandboxes", limit=100)["items"]:
        for part in ("", "/events", "/logs", "/transcript", "/messages/history"):
            yield (
                f"answer of {sandbox['id']}{part}",
                platform.request("GET", f"/sandboxes/{sandbox['id']}{part}").content,
            )


def forms(secret: str) -> list[bytes]:
    return [secret.encode(), secret.encode().hex().encode()]


def test_each_persons_task_uses_their_key_which_is_found_nowhere_but_encrypted(
    make_platform: Callable[..., Platform], host: ModelHost
) -> None:
    platform = make_platform(OMOI_MODEL="", ANTHROPIC_API_KEY="", OMOI_EGRESS_PRIVATE="127.0.0.1")
    platform.start()
    ada, bob = Person.joining(platform, "ada"), Person.joining(platform, "bob")
    assert ada.give(ADA, host)["check"] == "ok"

    done = ada.work()
    assert (done["status"], done["result"]["checks"][0]["output"].split()) == ("completed", ["1", "0"]), done
    (sandbox,) = platform.sandboxes(done["id"])
    assert sandbox["model"] != "scripted"
    assert set(host.keys) == {ADA}
    host.keys.clear()

    bob.give(BOB, host)
    host.refuses = True
    refused = bob.work()
    assert (refused["status"], refused["error"]) == ("failed", f"the key {MASK} is not valid")
    assert set(host.keys) == {BOB}

    # The positive control: what the agent printed was stored, but masked.
    seen = dict.fromkeys(("printed: " + MASK, "is not valid"), 0)
    for place, content in places(platform):
        for form in (*forms(ADA), *forms(BOB)):
            assert form not in content, place
        for text in seen:
            seen[text] += text.encode() in content
    assert all(seen.values()), seen
    assert platform.stop() == 0
