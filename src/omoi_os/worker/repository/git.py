"""The task's checkout: clone, commit and push with git."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from omoi_os.protocol.assignment import Assignment
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.processes import end_tree
from omoi_os.worker.repository import branch_switch

T = TypeVar("T")

AUTHOR_NAME = "OmoiOS agent"
AUTHOR_EMAIL = "agent@omoi.local"
CLONE_SECONDS = 900.0
COMMAND_SECONDS = 120.0
CLONE_TRIES, PUSH_TRIES = 5, 8
LONGEST_WAIT_SECONDS = 10.0
MAX_FILES_LISTED = 500

#: Files that tools leave behind, and that not every repository ignores.
_EXCLUDED = "\n".join(
    ["__pycache__/", "*.py[co]", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", "node_modules/", ".venv/", ""]
)
_FINAL = ("[rejected]", "[remote rejected]", "error: 40", "not found", "refusing", "could not read Username")


class GitError(Exception):
    """A git command failed. The message ends with git's output."""

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        #: True if a retry will not help.
        self.final = final


def write_excluded(git_dir: Path) -> None:
    """Make a repository ignore what tools leave behind."""
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "exclude").write_text(_EXCLUDED)


@dataclass(frozen=True, slots=True)
class Repository:
    """The task's checkout. Its git commands run no hooks and read no personal settings."""

    paths: WorkerPaths
    assignment: Assignment
    token: str
    environ: Mapping[str, str]
    #: Variables for git itself, such as another index.
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """The folder of the checkout."""
        return self.paths.workspace

    @property
    def wip(self) -> str:
        """The branch for unfinished work."""
        return self.assignment.wip_branch or f"wip/{self.assignment.task_id}"

    async def run(
        self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"", timeout: float = COMMAND_SECONDS
    ) -> str:
        """Run one git command and return its output. Raises `GitError` if it fails or takes too long."""
        process = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            cwd=cwd or self.workspace,
            env=self._environ(),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(timeout):
                out, err = await process.communicate(stdin or None)
        except TimeoutError:
            raise GitError(f"git {arguments[0]} did not finish within {timeout:g} s", final=False) from None
        finally:
            if process.returncode is None:
                await end_tree(process)
        if process.returncode != 0:
            printed = err.decode(errors="replace").strip()[-2000:]
            final = any(mark in printed for mark in _FINAL)
            raise GitError(f"git {arguments[0]} failed: {printed or f'exit code {process.returncode}'}", final=final)
        return os.fsdecode(out).removesuffix("\n")

    def _environ(self) -> dict[str, str]:
        # Pass the token in the environment: more processes can read argv and config files, and for longer.
        settings = [
            (f"http.{self.assignment.git_url}.extraHeader", f"Authorization: Bearer {self.token}"),
            ("http.lowSpeedLimit", "1"),
            ("http.lowSpeedTime", "60"),
            ("core.hooksPath", os.devnull),
            ("core.fsmonitor", "false"),
            ("core.quotePath", "false"),
            ("commit.gpgSign", "false"),
            ("gc.auto", "0"),
            ("safe.directory", str(self.workspace)),
            # Another user of this machine owns the mirror.
            ("safe.directory", str(self.paths.mirror)),
        ]
        environ = {
            "PATH": self.environ.get("PATH", os.defpath),
            "HOME": self.environ.get("HOME", "/"),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": str(len(settings)),
        }
        for number, (key, value) in enumerate(settings):
            environ |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return {**environ, **self.variables}

    async def check_out(self) -> str:
        """Check the branch out, with unfinished work of an earlier attempt. Return the branch's commit."""
        if await self._is_checked_out():
            # The files of an earlier worker in this sandbox are newer than what was saved, so they stay.
            (self.workspace / ".git" / "index.lock").unlink(missing_ok=True)
            base = await self._pushed()
        else:
            unfinished = await self._clone_and_find_work()
            write_excluded(self.workspace / ".git")
            base = await self._pushed()
            if unfinished:
                await self.retry(self._continue_unfinished_work, tries=CLONE_TRIES)
        self.remember_base(base)
        return base

    def remember_base(self, commit: str) -> None:
        """Note the pushed commit; everything else in the workspace is unfinished."""
        self.paths.base_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = self.paths.base_file.with_suffix(".new")
        partial.write_text(commit)
        partial.replace(self.paths.base_file)

    async def _is_checked_out(self) -> bool:
        if not self.paths.base_file.exists() or not (self.workspace / ".git").exists():
            return False
        try:
            await self._pushed()
            await self.head()
        except GitError:
            return False
        return True

    async def _pushed(self) -> str:
        return await self.run("rev-parse", "--verify", f"refs/remotes/origin/{self.assignment.branch_name}")

    async def _clone_and_find_work(self) -> bool:
        """Clone, and find out meanwhile whether there is unfinished work."""
        looking = asyncio.create_task(self.retry(self._has_unfinished_work, tries=CLONE_TRIES))
        try:
            await self.retry(self._clone, tries=CLONE_TRIES)
            return await looking
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _clone(self) -> None:
        # A prepared checkout and a mirror only save time: an error in them must not stop the task.
        with contextlib.suppress(GitError, OSError):
            return await branch_switch.switch(self, author=AUTHOR_NAME, email=AUTHOR_EMAIL)
        if self.paths.mirror.is_dir():
            with contextlib.suppress(GitError):
                return await self._clone_with(f"--reference-if-able={self.paths.mirror}")
        return await self._clone_with()

    async def _clone_with(self, *options: str) -> None:
        self._empty_workspace()
        await self.run(
            *("clone", "--quiet", f"--branch={self.assignment.branch_name}", "--single-branch", *options),
            *("-c", f"user.name={AUTHOR_NAME}", "-c", f"user.email={AUTHOR_EMAIL}"),
            *("--", self.assignment.git_url, str(self.workspace)),
            cwd=Path("/"),
            timeout=CLONE_SECONDS,
        )

    def _empty_workspace(self) -> None:
        # The folder itself is a mount point.
        self.workspace.mkdir(parents=True, exist_ok=True)
        for entry in self.workspace.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    async def _has_unfinished_work(self) -> bool:
        head = f"refs/heads/{self.wip}"
        return bool(await self.run("ls-remote", "--heads", "--", self.assignment.git_url, head, cwd=Path("/")))

    async def _continue_unfinished_work(self) -> None:
        wip = f"refs/remotes/origin/{self.wip}"
        await self.run("fetch", "--quiet", "origin", f"+refs/heads/{self.wip}:{wip}", timeout=CLONE_SECONDS)
        try:
            await self.run("merge", "--quiet", "--no-edit", wip)
        except GitError:
            # It conflicts with the branch: the branch wins, and the old work stays on its branch.
            with contextlib.suppress(GitError):
                await self.run("merge", "--abort")

    async def commit(self, message: str) -> None:
        """Commit everything that is not committed yet."""
        # The agent may have been killed during its own git command.
        (self.workspace / ".git" / "index.lock").unlink(missing_ok=True)
        await self.run("add", "--all")
        if await self.run("status", "--porcelain", "--untracked-files=no"):
            await self.run("commit", "--quiet", "--no-verify", "-m", message)

    async def head(self) -> str:
        """Return the commit that is checked out."""
        return await self.run("rev-parse", "--verify", "HEAD")

    async def files_changed(self, base: str) -> list[str]:
        """Return the paths that differ from a commit, at most `MAX_FILES_LISTED`."""
        listed = await self.run("diff", "--name-only", "-z", base, "HEAD")
        return [name for name in listed.split("\0") if name][:MAX_FILES_LISTED]

    async def push(self) -> None:
        """Push HEAD to the task's branch."""
        await self.retry(self._push, tries=PUSH_TRIES)

    async def push_aside(self) -> None:
        """Push HEAD to the work-in-progress branch, replacing what is there."""
        await self.retry(
            lambda: self.run("push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{self.wip}"), tries=PUSH_TRIES
        )

    async def _push(self) -> None:
        await self.run("push", "--quiet", "origin", f"HEAD:refs/heads/{self.assignment.branch_name}")

    async def retry(self, step: Callable[[], Awaitable[T]], *, tries: int) -> T:
        """Retry a step that needs the network, unless its error is final."""
        for number in range(1, tries):
            try:
                return await step()
            except GitError as error:
                if error.final:
                    raise
            wait = min(LONGEST_WAIT_SECONDS, 0.5 * 2**number)
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311
        return await step()
