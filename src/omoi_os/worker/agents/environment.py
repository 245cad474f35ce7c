"""The environment of the agent driver and of everything the agent starts."""

from __future__ import annotations

from collections.abc import Mapping

from omoi_os.worker.agents.base import AgentDriver
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.startup.driver_start import MARK_NAME

#: The variables of the worker that every agent may see.
PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"),
    *("SANDBOX_ID", "TASK_ID", "USER_ID", "PROJECT_ID", "GITHUB_REPO_OWNER", "GITHUB_REPO_NAME", "BRANCH_NAME"),
    *("CALLBACK_URL", "MESSAGE_POLL_URL", "TASK_DESCRIPTION", "TASK_DATA_BASE64", "MAX_TURNS", "MAX_BUDGET_USD"),
    *("EXECUTION_MODE", "SPEC_ID", "SPEC_PHASE"),
)


def agent_environ(agent: AgentDriver, variables: Mapping[str, str], paths: WorkerPaths, *, mark: str) -> dict[str, str]:
    """Return the whole environment of the agent. `mark` identifies every process that it starts."""
    return {name: variables[name] for name in PASSED_ON if name in variables} | {
        "HOME": str(paths.home),
        # A git command of the agent that needs a password must fail instead of waiting for one.
        "GIT_TERMINAL_PROMPT": "0",
        **agent.environment(variables, paths),
        MARK_NAME: mark,
    }
