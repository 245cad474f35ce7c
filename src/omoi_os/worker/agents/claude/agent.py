"""Claude as the reporter sees it. Imports the standard library only; the SDK stays in the driver process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omoi_os.worker.agents.base import AgentDriver, Session
from omoi_os.worker.agents.claude import environment, session_files, skills
from omoi_os.worker.paths import WorkerPaths


class ClaudeAgent:
    """Implements `AgentDriver` for the Claude Agent SDK."""

    name = "claude"

    def environment(self, variables: Mapping[str, str], paths: WorkerPaths) -> dict[str, str]:
        """Return the variables for the SDK and the CLI."""
        return environment.environment(variables, paths)

    def collect_skills(self, paths: WorkerPaths) -> tuple[str, ...]:
        """Copy the repository's skills and sub-agents into a plugin and return its folder, if there are any."""
        return skills.collect(paths)

    def find_transcript(self, paths: WorkerPaths, session_id: str) -> Path | None:
        """Return the CLI's file of a session."""
        return session_files.find_transcript(paths, session_id)

    def newest_session(self, paths: WorkerPaths) -> str | None:
        """Return the session that the CLI wrote last."""
        return session_files.newest_session(paths)

    def restore_transcript(self, paths: WorkerPaths, session_id: str, content: bytes) -> Session | None:
        """Write a saved transcript to where the CLI looks for it."""
        return session_files.restore_transcript(paths, session_id, content)


AGENT: AgentDriver = ClaudeAgent()
