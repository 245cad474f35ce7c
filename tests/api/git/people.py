"""People with a real git client, as on another machine: they have a URL and an API key, and no access to the server."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from omoi_os.accounts.repository import by_email
from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.forges.bare.refs import commits_of
from omoi_os.sandboxes.site_owners import claim_repositories
from omoi_os.system.installation import site_of
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.visibility import Role
from tests.api.conftest import a_key
from tests.api_process import ApiProcess
from tests.builders import a_project, a_task, a_ticket

#: Prints the key for git's question about the password, and nothing else.
_ASKPASS = '#!/bin/sh\nprintf "%s\\n" "$TEST_KEY"\n'


@dataclass
class Person:
    """A git client with one project's clone URL."""

    folder: Path
    url: str
    key: str
    email: str
    home: Path

    def environment(self) -> dict[str, str]:
        askpass = self.home / "askpass"
        if not askpass.exists():
            askpass.write_text(_ASKPASS)
            askpass.chmod(0o700)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_ASKPASS": str(askpass),
            "GIT_CONFIG_NOSYSTEM": "1",
            "TEST_KEY": self.key,
        }

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        identity = ("-c", "user.name=A person", "-c", "user.email=person@example.org", "-c", "init.defaultBranch=main")
        return await asyncio.create_subprocess_exec(
            *("git", *identity, *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env=self.environment(),
        )

    async def git(self, *arguments: str) -> tuple[int, str]:
        process = await self.start(*arguments)
        output, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode()

    async def clone(self, *options: str) -> None:
        code, output = await self.git("clone", "-q", *options, self.url, "work")
        assert (code, output) == (0, ""), output
        self.folder = self.folder / "work"

    async def commit(self, name: str, content: str | bytes = "new") -> str:
        (self.folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        await self.git("add", ".")
        code, output = await self.git("commit", "-q", "-m", name)
        assert (code, output) == (0, "")
        return (await self.git("rev-parse", "HEAD"))[1].strip()


@dataclass
class Server:
    """An API process, its database and its data folder."""

    api: ApiProcess
    sessions: Sessions
    tmp: Path

    @property
    def data_dir(self) -> Path:
        return Path(self.api.environment["OMOI_DATA_DIR"])

    async def claim(self) -> None:
        """Record that the data folder has the repositories, as the gateway does when it starts."""
        async with self.sessions.begin() as session:
            await claim_repositories(session, site=site_of(self.data_dir), data_dir=self.data_dir)

    async def person(self, role: Role = Role.MEMBER, *, of: "Person | None" = None, **key: object) -> Person:
        """A new person with a new project, or with the clone URL of another person's project."""
        name = uuid4().hex
        token = await a_key(self.sessions, name, role, **key)
        home = self.tmp / name
        home.mkdir()
        return Person(home, of.url if of else await self.a_url(name), token, f"{name}@example.org", home)

    async def a_url(self, name: str) -> str:
        async with self.sessions.begin() as session:
            owner = await by_email(session, f"{name}@example.org")
            project = await a_project(session, owner)
        return f"{self.api.url}/git/{project.id}.git"

    def repository(self, person: Person) -> Path:
        return self.data_dir / "repos" / person.url.rpartition("/")[2]

    async def head(self, person: Person, ref: str = "refs/heads/main") -> str | None:
        return (await commits_of(self.repository(person), ref)).get(ref)

    async def task(self, person: Person, status: TaskState, branch: str) -> UUID:
        """A task of the person's project in this state, on this branch."""
        project_id = UUID(person.url.rpartition("/")[2].removesuffix(".git"))
        async with self.sessions.begin() as session:
            owner = await by_email(session, person.email)
            assert owner is not None
            ticket = await a_ticket(session, project_id=project_id, created_by=owner.id)
            task: Task = await a_task(session, MemoryBus(), ticket)
            task.status, task.branch_name, task.branch_created = status, branch, True
        return task.id

    async def move(self, task_id: UUID, status: TaskState) -> None:
        """Put a task into this state."""
        async with self.sessions.begin() as session:
            (await session.get_one(Task, task_id)).status = status
