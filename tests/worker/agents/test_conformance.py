"""Every registered agent driver does what a driver must, and the suite notices one that does not."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from omoi_os.worker.agents.conformance import CHECKS, Bench, Check, Failed, Refuse, Reply, RunCommand, Step, bench
from omoi_os.worker.agents.registry import DRIVERS
from omoi_os.worker.startup.driver_start import CHANNEL
from tests.worker import platform as steps
from tests.worker.platform import TOKEN, Platform


class PlatformModel:
    """The test platform's model, as the suite sees it."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    @property
    def variables(self) -> Mapping[str, str]:
        return {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "ANTHROPIC_BASE_URL": self._platform.url,
            "ANTHROPIC_AUTH_TOKEN": TOKEN,
            "CLAUDE_CODE_MAX_RETRIES": "2",
        }

    @property
    def requests(self) -> Sequence[str]:
        return self._platform.asked

    def play(self, *wanted: Step) -> None:
        self._platform.steps = [_step(step) for step in wanted]


def _step(step: Step) -> steps.Step:
    match step:
        case RunCommand(command):
            return {"tool": "Bash", "input": {"command": command}}
        case Reply(text):
            return {"text": text}
        case Refuse(status, message):
            return {"status": status, "message": message}


@pytest.mark.parametrize("name", DRIVERS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_conformance(check: Check, name: str, platform: Platform, root: Path) -> None:
    async with Bench(PlatformModel(platform), root, name=name) as made:
        await check(made)


#: Reports `Ready` and one turn without anything in it, and ignores every order.
EMPTY_DRIVER = f"""
import socket
channel = socket.socket(fileno={CHANNEL})
channel.sendall(b'{{"type": "ready"}}\\n')
channel.recv(1 << 20)
channel.sendall(b'{{"type": "turn_ended"}}\\n' * 2)
channel.recv(1 << 20)
import time
time.sleep(60)
"""
#: What an empty driver can do, and what is asked of the reporter's side only.
TRIVIAL = {"is_ready_before_it_has_a_task", "damaged_transcripts_are_not_restored"}


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check.__name__ not in TRIVIAL], ids=lambda check: check.__name__
)
async def test_a_driver_that_does_nothing_fails(
    check: Check, platform: Platform, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "PATIENCE_SECONDS", 0.5)
    argv = [sys.executable, "-I", "-S", "-c", EMPTY_DRIVER]
    async with asyncio.timeout(30), Bench(PlatformModel(platform), root, argv=argv) as made:
        with pytest.raises((Failed, ValueError)):
            await check(made)
