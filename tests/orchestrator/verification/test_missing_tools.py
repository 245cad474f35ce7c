"""Which failures are the environment's, and which are the work's."""

from collections.abc import Mapping

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.bare import git
from omoi_os.forges.local.forge import LocalForge
from omoi_os.orchestrator.verification.check_runs import Subject
from omoi_os.orchestrator.verification.missing_tools import missing_in
from omoi_os.projects.addresses import repository_of
from omoi_os.tasks.verdict import Check
from tests.builders import a_project, a_task, a_ticket
from tests.orchestrator.conftest import MakeContext

BASE = {"app.py": "import requests\n", "pytest.ini": "", "run.sh": "#!/usr/bin/ruby\n", "lib/tools/x.py": ""}


async def committed(forge: LocalForge, subject_files: Mapping[str, str], *, repository: object, parent: str) -> str:
    """A commit with these files, made in the bare repository."""
    path = forge.path(repository)  # type: ignore[arg-type]
    index = {"GIT_INDEX_FILE": str(path / "test-index")}
    if parent:
        await git.run("read-tree", parent, git_dir=path, variables=index)
    for name, content in subject_files.items():
        blob = await git.run("hash-object", "-w", "--stdin", git_dir=path, stdin=content.encode())
        await git.run("update-index", "--add", "--cacheinfo", f"100755,{blob},{name}", git_dir=path, variables=index)
    tree = await git.run("write-tree", git_dir=path, variables=index)
    return await git.run("commit-tree", "-p", parent, "-m", "x", tree, git_dir=path)


MODULE = "ModuleNotFoundError: No module named '{}'\n"


@pytest.mark.parametrize(
    ("command", "exit_code", "output", "change", "missing"),
    [
        ("pytest -q", 127, "/bin/sh: 1: pytest: not found\n", {"test_x.py": "import pytest\n"}, "the command `pytest`"),
        ("python3 -m pytest", 1, "/usr/bin/python3: No module named pytest\n", {"x.py": ""}, "the module `pytest`"),
        ("python3 app.py", 1, MODULE.format("requests"), {"x.py": ""}, "the module `requests`"),
        ("frobnicate", 127, "/bin/sh: 1: frobnicate: not found\n", {"x.py": ""}, "the command `frobnicate`"),
        ("./run.sh", 127, "/bin/sh: 1: ./run.sh: not found\n", {"x.py": ""}, "the command `./run.sh`"),
        ("/opt/check", 127, "/bin/sh: 1: /opt/check: not found\n", {"x.py": ""}, "the command `/opt/check`"),
        ("sh -c 'exit 127'", 127, "", {"x.py": ""}, "a command"),
        # The work's own doing:
        ("python3 app.py", 1, MODULE.format("numpy"), {"new.py": "import numpy\n"}, None),
        ("python3 app.py", 1, MODULE.format("tools"), {"x.py": ""}, None),
        ("python3 app.py", 1, MODULE.format("helper"), {"src/helper.py": ""}, None),
        ("python3 -m answer", 1, "/usr/bin/python3: No module named answer\n", {"x.py": ""}, None),
        ("./new.sh", 127, "/bin/sh: 1: ./new.sh: not found\n", {"x.py": ""}, None),
        ("./run.sh", 127, "/bin/sh: 1: ./run.sh: not found\n", {"run.sh": "#!/usr/bin/perl6\n"}, None),
        ("./new.sh", 126, "/bin/sh: 1: ./new.sh: Permission denied\n", {"new.sh": "#!/bin/sh\n"}, None),
        ("python3 app.py", 1, "AssertionError\n", {"x.py": ""}, None),
    ],
)
async def test_only_what_no_attempt_can_provide_is_the_environments(
    session: AsyncSession,
    make_context: MakeContext,
    command: str,
    exit_code: int,
    output: str,
    change: dict[str, str],
    missing: str | None,
) -> None:
    context, project = make_context(), await a_project(session)
    ticket = await a_ticket(session, project, title="Write answer.py")
    task = await a_task(session, MemoryBus(), ticket)
    forge, repository = LocalForge(context.settings.repositories_dir), repository_of(project)
    await forge.ensure_repository(repository)
    first = await forge.branch_head(repository, "main") or ""
    base = await committed(forge, BASE, repository=repository, parent=first)
    await git.run("update-ref", "refs/heads/main", base, git_dir=forge.path(repository))
    commit = await committed(forge, change, repository=repository, parent=base)

    told = await missing_in(
        context, Subject(task, ticket, project, commit, [command]), [Check(command, exit_code, output)]
    )

    assert (told or "").startswith(f"{missing} is missing" if missing else ""), told
    assert (told is None) == (missing is None)
