"""The transcript is saved turn by turn, against a real HTTP server."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omoi_os.worker.agents.registry import load_agent
from omoi_os.worker.paths import WorkerPaths
from omoi_os.worker.reporter import transcripts as module
from omoi_os.worker.reporter.api import Api, Superseded
from omoi_os.worker.reporter.transcripts import Transcripts
from tests.worker.platform import API, TOKEN, Platform

SESSION = "5c7f3d52-0000-4000-8000-000000000001"


@pytest.fixture
def file(root: Path) -> Path:
    """The session's file, where the CLI keeps it."""
    path = root / "home" / ".claude" / "projects" / "-workspace" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("1\n")
    return path


@pytest.fixture
async def transcripts(platform: Platform, root: Path, file: Path) -> AsyncIterator[Transcripts]:
    """The uploader, running."""
    transcripts = Transcripts(Api(f"{platform.url}{API}/events", TOKEN), WorkerPaths(home=root / "home"), load_agent())
    saving = asyncio.create_task(transcripts.save_turns())
    yield transcripts
    saving.cancel()
    await asyncio.gather(saving, return_exceptions=True)


async def test_each_turn_is_saved_and_turns_that_follow_closely_are_saved_together(
    transcripts: Transcripts, platform: Platform, file: Path
) -> None:
    for number in range(2, 20):
        with file.open("a") as lines:
            lines.write(f"{number}\n")
        transcripts.note_turn(SESSION)
    await platform.wait_for(lambda: platform.transcript_puts == 1)
    assert platform.transcripts[SESSION] == file.read_bytes()

    file.write_text("more\n")
    transcripts.note_turn(SESSION)
    await platform.wait_for(lambda: platform.transcripts[SESSION] == b"more\n")
    assert platform.transcript_puts == 2


async def test_what_has_not_changed_is_not_sent_again(transcripts: Transcripts, platform: Platform, file: Path) -> None:
    assert await transcripts.save(SESSION, tries=1)
    assert await transcripts.save(SESSION, tries=1)
    assert platform.transcript_puts == 1

    file.write_text("changed\n")
    assert await transcripts.save(SESSION, tries=1)
    assert platform.transcripts[SESSION] == b"changed\n"


async def test_what_the_cli_writes_late_is_saved_too(transcripts: Transcripts, platform: Platform, file: Path) -> None:
    transcripts.note_turn(SESSION)
    await platform.wait_for(lambda: platform.transcript_puts == 1)
    with file.open("a") as lines:
        lines.write("late\n")

    await platform.wait_for(lambda: platform.transcripts[SESSION] == b"1\nlate\n", seconds=10)


async def test_only_whole_lines_that_came_since_are_sent(
    transcripts: Transcripts, platform: Platform, file: Path
) -> None:
    await transcripts.save(SESSION, tries=1)
    for added in ("two\nhalf", " a line", " is whole now\nthree\n"):
        with file.open("a") as lines:
            lines.write(added)
        assert await transcripts.save(SESSION, tries=1)

    assert platform.transcripts[SESSION] == file.read_bytes()
    assert platform.transcript_sizes == [2, 4, 31]


async def test_a_long_session_is_sent_part_by_part(
    transcripts: Transcripts, platform: Platform, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART_BYTES", 10)
    file.write_text("1234\n6789\nabc\n" + "x" * 30 + "\nlast\ntorn")
    assert await transcripts.save(SESSION, tries=1)

    assert platform.transcripts[SESSION] == file.read_bytes().removesuffix(b"torn")
    assert platform.transcript_sizes == [10, 4, 31, 5]


async def test_a_server_that_has_less_gets_everything_again(
    transcripts: Transcripts, platform: Platform, file: Path
) -> None:
    await transcripts.save(SESSION, tries=1)
    platform.transcripts.clear()
    with file.open("a") as lines:
        lines.write("2\n")
    assert await transcripts.save(SESSION, tries=1)
    assert platform.transcripts[SESSION] == b"1\n2\n"

    file.write_text("another beginning\n")
    assert await transcripts.save(SESSION, tries=1)
    assert platform.transcripts[SESSION] == b"another beginning\n"


async def test_another_attempt_s_turn_ends_it(transcripts: Transcripts, platform: Platform) -> None:
    platform.transcript_status = 401
    with pytest.raises(Superseded):
        await transcripts.save(SESSION, tries=1)


async def test_a_failing_server_is_tried_again_and_a_refusal_is_final(
    transcripts: Transcripts, platform: Platform
) -> None:
    platform.transcript_status = 503
    assert not await transcripts.save(SESSION, tries=2)
    assert platform.transcript_puts == 2

    platform.transcript_status = 413
    assert not await transcripts.save(SESSION, tries=5)
    assert not await transcripts.save(SESSION, tries=5)
    assert platform.transcript_puts == 3
