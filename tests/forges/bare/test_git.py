"""Git's processes: whatever they were doing, their end is seen."""

import asyncio

from omoi_os.forges.bare import git


async def test_one_that_nobody_reads_from_any_more_is_ended() -> None:
    process = await asyncio.create_subprocess_exec("yes", stdout=asyncio.subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    await process.stdout.read(1)
    # Its pipe and the reader's own room are full by then.
    await asyncio.sleep(0.3)

    await asyncio.wait_for(git.end_group(process), 20)

    assert process.returncode == -9
