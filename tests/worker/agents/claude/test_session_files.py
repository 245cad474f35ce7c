"""The CLI's session files: where they are, and how a saved one is restored."""

from pathlib import Path

import pytest

from omoi_os.worker.agents.base import Session
from omoi_os.worker.agents.claude.agent import AGENT
from omoi_os.worker.attempt.resume import SessionLost, restore_session
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter.api import Api
from tests.worker.platform import API, TOKEN, Platform

SESSION = "5c7f3d52-0000-4000-8000-000000000001"


async def test_a_session_is_written_whole_and_where_the_cli_looks(platform: Platform, root: Path) -> None:
    paths = WorkerPaths(home=root / "home", workspace=Path("/work space/x_1"))
    lines = [b'{"type": "user"}', b'{"type": "cost-state", "totalCostUSD": 0.5}', b"damaged", b'{"type": "torn']
    platform.session = (SESSION, b"\n".join(lines))
    api = Api(f"{platform.url}{API}/events", TOKEN)

    assert await restore_session(api, paths, AGENT) == Session(SESSION, 0.5)
    written = root / "home" / ".claude" / "projects" / "-work-space-x-1" / f"{SESSION}.jsonl"
    assert written.read_bytes() == b"\n".join([*lines[:2], b""])

    platform.session = ("../../evil", b'{"type": "user"}\n')
    with pytest.raises(SessionLost):
        await restore_session(api, paths, AGENT)
    platform.session = None
    assert await restore_session(api, paths, AGENT) is None


def test_the_newest_session_is_found_and_nothing_else(root: Path) -> None:
    file = root / "home" / ".claude" / "projects" / "-workspace" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("1\n")
    paths = WorkerPaths(home=root / "home")
    (file.parent / "not a session.jsonl").touch()
    (file.parent / "folder.jsonl").mkdir()
    (file.parent / SESSION / "subagents").mkdir(parents=True)
    (file.parent / SESSION / "subagents" / "agent-1.jsonl").touch()
    (file.parent / "gone.jsonl").symlink_to("/nowhere")

    assert AGENT.newest_session(paths) == SESSION
    assert AGENT.newest_session(WorkerPaths(home=root)) is None
