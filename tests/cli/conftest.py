"""A platform and an API alone, for all tests of the operator's commands: each test creates its own data."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task
from tests.api_process import ApiProcess, Reporter, batch_body, make_reporters
from tests.cli.test_main import omoi
from tests.conftest import IN_MEMORY, fresh_database, sessions_on, short_folder
from tests.e2e.platform import Platform, one_for_all

Json = dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """An API without an orchestrator, and the commands that use it."""

    api: ApiProcess
    database_url: str

    def omoi(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return omoi(*arguments, **self.api.environment | environ)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "omoi_os", *arguments],
            env=self.api.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def reporters(self, count: int) -> list[Reporter]:
        """Return reporters of running sandboxes."""

        async def make() -> list[Reporter]:
            async with sessions_on(self.database_url) as sessions:
                return await make_reporters(sessions, count, at_work=True)

        return asyncio.run(make())

    def post(self, reporter: Reporter, *events: tuple[str, Json], since: int = 0) -> None:
        body = [
            {"event_type": kind, "event_data": data, "seq": seq} for seq, (kind, data) in enumerate(events, since + 1)
        ]
        answer = httpx.post(
            self.api.url + reporter.path("/events/batch"),
            content=batch_body(body),
            headers=reporter.headers,
            trust_env=False,
        )
        assert answer.json()["accepted"] == len(events), answer.text

    def get(self, path: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.api.environment['OMOI_ADMIN_TOKEN']}"}
        return httpx.get(f"{self.api.url}/api/v1{path}", headers=headers, trust_env=False)

    def change(self, reporter: Reporter, *, task: Json | None = None, **columns: Any) -> None:
        """Change the rows of a sandbox and of its task."""

        async def write() -> None:
            async with sessions_on(self.database_url) as sessions, sessions.begin() as session:
                sandbox = await session.get_one(Sandbox, reporter.id)
                work = await session.get_one(Task, sandbox.task_id)
                for row, values in ((sandbox, columns), (work, task or {})):
                    for name, value in values.items():
                        setattr(row, name, value)

        asyncio.run(write())


@pytest.fixture(scope="session")
def desk(postgres: str) -> Iterator[Desk]:
    with short_folder() as folder, fresh_database(postgres) as url:
        api = ApiProcess(folder, url)
        try:
            asyncio.run(api.start())
            yield Desk(api, url)
        finally:
            api.kill()


@pytest.fixture(scope="session")
def platform(prepared: Path) -> Iterator[Platform]:
    """The whole platform, with an orchestrator and the scripted model."""
    with one_for_all(prepared, place=IN_MEMORY) as shared:
        yield shared


def lines_of_json(text: str) -> list[Json]:
    return [json.loads(line) for line in text.splitlines()]
