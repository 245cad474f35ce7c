"""`omoi fetch`: fetch the branch of a task into the repository of the current folder."""

import os
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from omoi_os.cli.output.tables import as_json
from omoi_os.cli.remote.client import Client, is_loopback
from omoi_os.cli.remote.connection import Json, connect, required_key
from omoi_os.config import load_settings
from omoi_os.errors import NotFound, OmoiError, SetupError
from omoi_os.printable import one_line

_MISSING_REF = "couldn't find remote ref"


def run(parameters: dict[str, Any]) -> int:
    """Fetch the branch and print how to check it out."""
    task_id, wants_json = parameters.pop("task"), parameters.pop("json", False)
    if _git("rev-parse", "--git-dir").returncode != 0:
        raise SetupError("this folder is not inside a git repository; change to your clone and run `omoi fetch` there")
    with connect(parameters) as client:
        task = _get_task(client, task_id)
        if not task["branch_name"]:
            raise NotFound(f"task {task['id']} has no branch; only tasks that change code have one")
        branch, local = task["branch_name"], f"refs/remotes/omoi/{task['branch_name']}"
        url = f"{client.url}/git/{task['project_id']}.git"
        _fetch(url, f"+refs/heads/{branch}:{local}", task, key=required_key(load_settings(**parameters)))
    commit = _git("rev-parse", "--verify", "--quiet", f"{local}^{{commit}}").stdout.strip()
    if wants_json:
        print(as_json({"task_id": task["id"], "branch": branch, "ref": local, "commit": commit}))
        return 0
    print(f"Fetched {one_line(branch)} at {commit[:12]}.")
    if _git("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").returncode == 0:
        print(f"Update your branch:  git switch {one_line(branch)} && git merge omoi/{one_line(branch)}")
    else:
        print(f"Check it out:  git switch --create {one_line(branch)} omoi/{one_line(branch)}")
    return 0


def _get_task(client: Client, task_id: str) -> Json:
    try:
        return client.get(f"/api/v1/tasks/{UUID(task_id)}")
    except (ValueError, NotFound):
        raise NotFound(
            f"task {task_id[:100]!r} does not exist or is not visible to you; its ticket's page shows the id"
        ) from None


def _fetch(url: str, refspec: str, task: Json, *, key: str) -> None:
    """Run `git fetch`. The key is only in the environment of git, in no argument, URL or file."""
    command = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", url, refspec)
    done = _git(*command, variables=_credentials(url, key))
    if done.returncode == 0:
        return
    if _MISSING_REF in done.stderr:
        raise NotFound(f"the branch of task {task['id']} does not exist yet; it is created when the task starts")
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    raise OmoiError(f"git could not fetch the branch of task {task['id']}: {lines[-1]}")


def _git(*arguments: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **(variables or {})}
    try:
        return subprocess.run(
            ["git", *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise SetupError("git is not installed: install it and try again") from None


def _credentials(url: str, key: str) -> dict[str, str]:
    """Return variables that make git send the key to this URL alone, in addition to the configuration it has."""
    header = f"Authorization: Basic {b64encode(f'omoi:{key}'.encode()).decode()}"
    config = [(f"http.{url}.extraHeader", header), (f"http.{url}.followRedirects", "false"), ("credential.helper", "")]
    if is_loopback(url):
        # A configured proxy cannot reach the loopback address of this machine.
        config.append((f"http.{url}.proxy", ""))
    present = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(present) if present.isdecimal() else 0
    values = {"GIT_CONFIG_COUNT": str(first + len(config)), "GIT_ASKPASS": ""}
    for index, (name, value) in enumerate(config, first):
        values |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return values
