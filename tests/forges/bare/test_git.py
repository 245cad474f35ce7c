"""Git processes end when they are killed or cancelled, whatever they were doing."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import git

PATIENCE = 20.0
#: Runs a shell command as git's, with its children, until it is killed.
ENDLESS = ("-c", "alias.endless=!echo $$ >$STARTED; sleep 600 & yes", "endless")


async def test_a_process_with_a_full_pipe_is_killed() -> None:
    process = await asyncio.create_subprocess_exec("yes", stdout=asyncio.subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    await process.stdout.read(1)
    # By then its pipe and the reader's buffer are full.
    await asyncio.sleep(0.3)

    await asyncio.wait_for(git.end_group(process), PATIENCE)

    assert process.returncode == -9


def marked(folder: Path) -> list[int]:
    """Return the processes with this folder in their environment, those that are being started included."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"STARTED={folder}/".encode() in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  other processes set no event
            await asyncio.sleep(0.01)


def endless(folder: Path) -> asyncio.Task[str]:
    variables = {"STARTED": str(folder / "started")}
    return asyncio.create_task(git.run(*ENDLESS, variables=variables, timeout=600))


async def ended(task: asyncio.Task[str]) -> None:
    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    assert done, "a cancelled command does not end"
    assert task.cancelled()


@pytest.mark.parametrize("turns", range(12))
async def test_a_command_that_is_cancelled_right_after_its_start_leaves_no_process(tmp_path: Path, turns: int) -> None:
    task = endless(tmp_path)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()

    await ended(task)
    await until(lambda: not marked(tmp_path))


async def test_a_command_that_is_cancelled_while_it_writes_leaves_no_process(tmp_path: Path) -> None:
    task = endless(tmp_path)
    await until((tmp_path / "started").exists)
    task.cancel()

    await ended(task)
    await until(lambda: not marked(tmp_path))


@pytest.mark.parametrize("turns", range(6))
async def test_a_command_that_is_cancelled_again_while_it_is_killed_leaves_no_process(
    tmp_path: Path, turns: int
) -> None:
    task = endless(tmp_path)
    await until((tmp_path / "started").exists)
    task.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()

    await ended(task)
    await until(lambda: not marked(tmp_path))


@pytest.mark.parametrize("turns", range(12))
def test_the_end_of_the_event_loop_does_not_wait_for_a_command(tmp_path: Path, turns: int) -> None:
    """The end of a loop cancels every task at once, those that asyncio starts for a process included."""

    async def main() -> None:
        task = endless(tmp_path)
        for _ in range(turns):
            await asyncio.sleep(0)
        assert not task.done()

    began = time.monotonic()
    asyncio.run(main())

    assert time.monotonic() - began < PATIENCE
    asyncio.run(until(lambda: not marked(tmp_path)))


async def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    variables = {"STARTED": str(tmp_path / "started")}

    with pytest.raises(ForgeError, match=r"^git -c did not end within 0.5 s$"):
        await git.run(*ENDLESS, variables=variables, timeout=0.5)

    await until(lambda: not marked(tmp_path))


def starting(folder: Path) -> asyncio.Task[asyncio.subprocess.Process]:
    variables = {**git.environment(), "STARTED": str(folder / "started")}
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    return asyncio.create_task(git.start("git", *ENDLESS, env=variables, **pipes))


@pytest.mark.parametrize("turns", range(6))
async def test_a_process_whose_start_is_cancelled_is_killed(tmp_path: Path, turns: int) -> None:
    task = starting(tmp_path)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()

    done, _ = await asyncio.wait([task], timeout=PATIENCE)
    assert done, "a cancelled start does not end"
    if not task.cancelled():
        await git.end_group(task.result())
    await until(lambda: not marked(tmp_path))


#: A program that ends while git, which waits for input, is being started.
ENDS_EARLY = """
import asyncio, sys
from asyncio.subprocess import PIPE
from omoi_os.forges.bare import git

async def main():
    variables = {**git.environment(), "STARTED": sys.argv[2]}
    task = asyncio.create_task(git.start("git", "hash-object", "--stdin", env=variables, stdin=PIPE, stdout=PIPE))
    for _ in range(int(sys.argv[1])):
        await asyncio.sleep(0)

asyncio.run(main())
"""


@pytest.mark.parametrize("turns", range(6))
async def test_the_end_of_the_event_loop_does_not_wait_for_a_start(tmp_path: Path, turns: int) -> None:
    argv = [sys.executable, "-c", ENDS_EARLY, str(turns), str(tmp_path / "started")]
    await asyncio.to_thread(subprocess.run, argv, check=True, timeout=PATIENCE)

    await until(lambda: not marked(tmp_path))
