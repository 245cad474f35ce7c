"""Stopping the reporter from another process."""

import asyncio
import signal
import sys

from omoi_os.worker.salvage.stop_reporter import stop_reporter
from tests.worker.conftest import Worker


async def test_a_worker_that_hangs_is_killed_and_a_stranger_with_its_number_is_not(worker: Worker) -> None:
    hanging = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    worker.paths.private.mkdir(parents=True)
    for name, survives in (("some.program ", True), ("omoi_os.worker.main ", False)):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", f"{hanging} # from {name}import main"), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout
        await process.stdout.readline()
        worker.paths.pid_file.write_text(str(process.pid))
        assert await stop_reporter(worker.paths, seconds=0.1) is not survives
        if survives:
            process.kill()
        assert await process.wait() == -signal.SIGKILL

    assert not await stop_reporter(worker.paths, seconds=0.1)
