"""The files that checks depend on and that a change modified itself."""

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.bus.memory import MemoryBus
from omoi_os.forges.bare import git
from omoi_os.forges.local.forge import LocalForge
from omoi_os.orchestrator.verification.changed_checks import INCOMPLETE, MAX_LISTED, changed_checks
from omoi_os.orchestrator.verification.check_runs import Subject
from omoi_os.projects.addresses import repository_of
from tests.builders import a_project, a_task, a_ticket
from tests.orchestrator.conftest import MakeContext
from tests.orchestrator.verification.test_missing_tools import committed

BASE = {"app.py": "1", "tools/verify.py": "1", "tests/test_app.py": "1", "Makefile": "1", "docs/x.md": "1"}
#: Were git to run anything that a repository asks for, one of these would do.
HOSTILE = {".gitattributes": "*.py diff=evil filter=evil\n", ".gitconfig": "[diff]\n\texternal = /bin/false\n"}


async def test_they_are_named_and_the_list_is_bounded(session: AsyncSession, make_context: MakeContext) -> None:
    context, project = make_context(), await a_project(session)
    ticket = await a_ticket(session, project)
    task = await a_task(session, MemoryBus(), ticket)
    forge, repository = LocalForge(context.settings.repositories_dir), repository_of(project)
    await forge.ensure_repository(repository)
    first = await forge.branch_head(repository, "main") or ""
    base = await committed(forge, BASE, repository=repository, parent=first)
    await git.run("update-ref", "refs/heads/main", base, git_dir=forge.path(repository))

    async def listed(**files: str) -> list[str]:
        commit = await committed(forge, files | HOSTILE, repository=repository, parent=base)
        commands = ["python3 tools/verify.py && python3 binomial.py"]
        return await changed_checks(context, Subject(task, ticket, project, commit, commands))

    changed = {"app.py": "2", "tools/verify.py": "2", "tests/test_app.py": "2", "binomial.py": "2", "conftest.py": "2"}
    few = await listed(**changed)
    many = await listed(**{f"tests/test_{number}.py": "" for number in range(MAX_LISTED + 5)})

    assert few == [".gitattributes", "conftest.py", "tests/test_app.py", "tools/verify.py"]
    assert (len(many), many[-1]) == (MAX_LISTED, INCOMPLETE)
