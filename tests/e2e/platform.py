"""The whole platform as a user runs it: `omoi serve` in a temporary folder, called over HTTP."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import httpx

#: Machines under load are slow; a wait that takes this long is a failure.
PATIENCE = 90.0
ENDED = ("completed", "failed", "cancelled")

#: Canaries: secrets of the installation that must show up nowhere.
CANARY_KEY = "sk-ant-canary-0123456789abcdefghij"
CANARY_FORGE = "ghp_canary0123456789abcdefghijklmnopqrst"

Json = dict[str, Any]
T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(what: str, look: Callable[[], T | None], *, patience: float = PATIENCE) -> T:
    """Look until something is there. Only the public API is watched, which has no wake-up for outsiders yet."""
    deadline = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience:.0f} s for {what}, which did not happen")
        time.sleep(0.05)


class Platform:
    """One installation. `start` and `stop` may be repeated: the folder is what lasts."""

    def __init__(self, folder: Path, *, prepared: Path | None = None, **environment: str) -> None:
        self.data_dir = folder / "data"
        if prepared is not None:
            shutil.copytree(prepared, self.data_dir)
        self.scripts_dir = folder / "scripts"
        self.scripts_dir.mkdir(parents=True)
        self.log = folder / "log"
        self.port = free_port()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "OMOI_DATA_DIR": str(self.data_dir),
            "OMOI_PORT": str(self.port),
            "OMOI_SCRIPTS_DIR": str(self.scripts_dir),
            "OMOI_MODEL": "scripted",
            "OMOI_RETRY_BACKOFF_SECONDS": "0.1",
            "OMOI_RECONCILE_SECONDS": "2",
            "ANTHROPIC_API_KEY": CANARY_KEY,
            "GITHUB_TOKEN": CANARY_FORGE,
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.data_dir / "admin-token").read_text().strip()

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "omoi_os", *arguments]

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command("serve"), env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_for("the platform to be ready", self._ready)

    def _ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the platform ended:\n{self.log.read_text()}"
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/ready", trust_env=False).is_success
        return False

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def part(self, name: str) -> int:
        """The process id of a part that runs now."""
        assert self.process is not None
        parent = self.process.pid
        return wait_for(f"the {name} process", lambda: _child_of(parent, name))

    def kill_part(self, name: str) -> None:
        os.kill(self.part(name), signal.SIGKILL)

    def script(self, name: str, text: str) -> None:
        (self.scripts_dir / f"{name}.yaml").write_text(text)

    def request(self, method: str, path: str, token: str | None = None, **arguments: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.request(
            method, f"{self.url}/api/v1{path}", headers=headers, trust_env=False, timeout=30, **arguments
        )

    def get(self, path: str, **query: Any) -> Json:
        """Read, patiently: the API may be starting again."""

        def look() -> Json | None:
            with contextlib.suppress(httpx.TransportError):
                response = self.request("GET", path, params=query)
                if response.status_code != 503:
                    response.raise_for_status()
                    return dict(response.json())
            return None

        return wait_for(f"an answer to {path}", look)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        response = self.request("POST", path, json=body or {})
        assert response.is_success, response.text
        return dict(response.json())

    def project(self, name: str = "project", **settings: Any) -> str:
        return str(self.post("/projects", {"name": name, "settings": settings})["id"])

    def ticket(self, title: str, **fields: Any) -> Json:
        """A ticket's only task."""
        if "project_id" not in fields:
            fields["project_id"] = self.project()
        ticket = self.post("/tickets", {"title": title, **fields})
        task: Json = ticket["tasks"][0]
        return task

    def task(self, task_id: str) -> Json:
        return self.get(f"/tasks/{task_id}")

    def until(self, task_id: str, *statuses: str) -> Json:
        """The task once it has one of these states; a task that ended otherwise fails the test at once."""

        def look() -> Json | None:
            task = self.task(task_id)
            if task["status"] in statuses:
                return task
            assert task["status"] not in ENDED, f"{task}\n{self.log.read_text()[-4000:]}"
            return None

        return wait_for(f"task {task_id} to be {' or '.join(statuses)}", look)

    def finished(self, task_id: str) -> Json:
        return self.until(task_id, *ENDED)

    def story(self, task_id: str) -> str:
        """What happened to a task, for a test that fails: its attempts with their events, and the end of the log."""
        lines = [str(self.task(task_id))]
        for each in reversed(self.get("/sandboxes", task_id=task_id, limit=100)["items"]):
            lines.append(" ".join(str(each[name]) for name in ("id", "purpose", "attempt", "status", "end_reason")))
            lines += [f"  {item['event_type']} {str(item['event_data'])[:300]}" for item in self.events(each["id"])]
        return "\n".join([*lines, self.log.read_text()[-6000:]])

    def sandboxes(self, task_id: str, purpose: str = "work") -> list[Json]:
        """A task's sandboxes of one purpose, oldest first."""
        items = self.get("/sandboxes", task_id=task_id, limit=100)["items"]
        return [item for item in reversed(items) if item["purpose"] == purpose]

    def events(self, sandbox_id: str) -> list[Json]:
        """All of a sandbox's events, in order."""
        found: list[Json] = []
        cursor = None
        while True:
            query = {"order": "asc", "limit": 500, **({"cursor": cursor} if cursor else {})}
            page = self.get(f"/sandboxes/{sandbox_id}/events", **query)
            found += page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def event(self, sandbox_id: str, event_type: str) -> Json:
        """The first event of a type, once it is there."""

        def look() -> Json | None:
            items = self.get(f"/sandboxes/{sandbox_id}/events", event_type=event_type, order="asc")["items"]
            return items[0] if items else None

        return wait_for(f"{event_type} of {sandbox_id}", look)

    def git(self, project_id: str, *arguments: str) -> str:
        """Ask the forge's own repository."""
        repository = self.data_dir / "repos" / f"{project_id}.git"
        return subprocess.run(
            ["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    def processes(self) -> list[str]:
        """The command lines of every process that has to do with this installation's sandboxes."""
        return [line for line in _command_lines() if str(self.data_dir / "sandboxes") in line]


def _command_lines() -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _child_of(parent: int, name: str) -> int | None:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
            if int(fields[1]) == parent and fields[0] != "Z" and name.encode() in arguments:
                return int(entry.name)
    return None


@contextlib.contextmanager
def one_for_all(prepared: Path, *, place: str) -> Iterator[Platform]:
    """A platform that runs for many tests, each with its own project."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-", dir=place))
    shared = Platform(folder, prepared=prepared)
    shared.start()
    yield shared
    assert shared.stop() == 0
    shutil.rmtree(folder, ignore_errors=True)
