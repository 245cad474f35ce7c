"""Tell a missing tool from failed work: another attempt cannot install what the sandbox does not have."""

import logging
import re
from collections.abc import Sequence
from pathlib import Path

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import changes
from omoi_os.forges.registry import make_mirrors
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.verification.check_output import Kind, Missing, find_missing
from omoi_os.orchestrator.verification.check_runs import Subject
from omoi_os.projects.addresses import repository_of
from omoi_os.protocol.paths import WORKSPACE
from omoi_os.tasks.verdict import Check

log = logging.getLogger(__name__)

ERROR_TYPE = "environment"

#: Commands and modules that are never the work of a task, even where its text mentions them.
_TOOLS = frozenset(
    re.findall(
        r"\S+",
        """
        ant bash bazel black bun bundle cargo clang cmake composer coverage curl dart deno django docker dotnet elixir
        eslint flake8 flutter g++ gcc git go golangci-lint gradle hatch ipython isort java javac jest jq julia just
        kotlinc ktlint lua make meson mix mocha mvn mypy nextest ninja node nosetests nox npm npx perl php phpunit pip
        pipenv playwright pnpm poetry prettier prove pylint pyright pytest python python2 python3 rake rspec rubocop
        ruby ruff rustc sbt shellcheck swift terraform tox tsc unittest uv vite vitest wget yarn zig
        """,
    )
)
_WORD = re.compile(r"[\w@./+-]+")


async def missing_in(context: Context, subject: Subject, checks: Sequence[Check]) -> str | None:
    """Return a sentence on what the sandbox lacks for these checks; None where the work may be at fault.

    Anything that the repository contains, the change mentions or the task asks for is part of the work: another
    attempt can provide it.
    """
    mirror = make_mirrors(subject.project.forge, context.settings).find(repository_of(subject.project))
    for check in checks:
        for missing in find_missing(check):
            try:
                is_work = mirror is not None and await _is_work(mirror, subject, check, missing)
            except ForgeError as error:
                # A repository that cannot be searched in time, for example a folder bomb, is the work's fault.
                log.info("task %s: %s", subject.task.id, error)
                is_work = True
            if not is_work:
                return (
                    f"{missing} is missing in the sandbox, so `{' '.join(check.command.split())[:200]}` cannot run "
                    f"(exit code {check.exit_code}): provide it or change the check, then retry the task"
                )
    return None


async def _is_work(mirror: Path, subject: Subject, check: Check, missing: Missing) -> bool:
    """Return whether the repository or the change should provide this."""
    if not missing.name:
        return False
    if missing.is_path:
        return await _is_own_path(mirror, subject, missing.name)
    base = await changes.base_of(mirror, subject.commit, branch=subject.project.default_branch)
    names = {missing.name, missing.name.replace("_", "-"), missing.name.replace("-", "_")}
    folders = missing.kind is Kind.MODULE
    for commit in (base, subject.commit):
        if await changes.has_program(mirror, commit, names, folders=folders):
            return True
    if missing.name in _TOOLS and _is_named(missing, check.command):
        return False
    if _is_named(missing, check.command):
        # The check names it. It is part of the work only if the task mentions it too.
        return _is_mentioned(missing, f"{subject.task.title}\n{subject.task.description}")
    return await changes.touches_word(mirror, base, subject.commit, missing.name)


async def _is_own_path(mirror: Path, subject: Subject, path: str) -> bool:
    """Return whether the work may add or repair a file that cannot be run.

    An existing script that the change did not modify needs an interpreter that the sandbox does not have.
    """
    inside = path.removeprefix(f"{WORKSPACE}/").removeprefix("./")
    if inside.startswith("/"):
        return False
    base = await changes.base_of(mirror, subject.commit, branch=subject.project.default_branch)
    if not await changes.has_path(mirror, subject.commit, inside):
        return True
    return inside in {path async for _, path in changes.changed_paths(mirror, base, subject.commit)}


def _is_named(missing: Missing, command: str) -> bool:
    return missing.name in _WORD.findall(command)


def _is_mentioned(missing: Missing, text: str) -> bool:
    """Return whether a text contains the name as a word, with or without a file extension."""
    words = (word.strip(".") for word in _WORD.findall(text))
    return any(word == missing.name or word.split("/")[-1].split(".")[0] == missing.name for word in words)
