"""Git processes end when they are killed, whatever they were doing."""

import asyncio

from omoi_os.forges.bare import git


async def test_a_process_with_a_full_pipe_is_killed() -> None:
    process = await asyncio.create_subprocess_exec("yes", stdout=asyncio.subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    await process.stdout.read(1)
    # By then its pipe and the reader's buffer are full.
    await asyncio.sleep(0.3)

    await asyncio.wait_for(git.end_group(process), 20)

    assert process.returncode == -9
