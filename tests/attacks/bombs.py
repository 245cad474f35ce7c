"""Attack 28: taking more than its share of anything, while a neighbour must still answer."""

import asyncio
import resource

from omoi_os.conformance import collector, expect
from omoi_os.providers.base import EndReason
from omoi_os.providers.conformance import Bench, Check, Guarantee, limits
from omoi_os.providers.guest import disk_watch, launch

CHECKS: list[Check] = []
_check = collector(CHECKS)

#: How long a neighbour may take to run nothing. It says that it is not starved; how quick it is, is measured elsewhere.
_NEIGHBOUR_SECONDS = 10
_PAUSE_SECONDS = 0.2

_SPARSE_BYTES = 100 << 30
_SPARSE = """
import sys
try:
    with open('sparse', 'wb') as file: file.truncate(int(sys.argv[1]))
    print('true')
except OSError: print('false')
"""
#: Waits afterwards, so that it can be observed.
_MANY_FILES = """
import errno, os, signal, sys
os.mkdir('many')
try:
    for number in range(int(sys.argv[1])): os.close(os.open(f'many/{number}', os.O_WRONLY | os.O_CREAT))
except OSError as error: sys.exit(28 if error.errno == errno.ENOSPC else 29)
signal.pause()
"""
_FULL = 28
_DESCRIPTORS = """
import json, os, sys
made = 0
try:
    while made < int(sys.argv[1]): os.dup(0); made += 1
except OSError: pass
print(json.dumps(made))
"""
_MORE_FILES = launch.MAX_OPEN_FILES + 1024


@_check(Guarantee.DISK)
async def a_huge_sparse_file_cannot_be_made(bench: Bench) -> None:
    """A file of a hundred gigabytes is refused, though it takes no room yet."""
    made = await bench.ask(await bench.make(resources=bench.small), _SPARSE, str(_SPARSE_BYTES))
    expect(not made, "a file of a hundred gigabytes was made")


@_check(Guarantee.DISK)
async def countless_empty_files_are_reported(bench: Bench) -> None:
    """So many files that the host would lack inodes get ENOSPC, or end the sandbox as having filled its disk."""
    count = 3 * bench.small.disk_bytes // disk_watch.BYTES_PER_FILE
    ref = await bench.make(bench.code(_MANY_FILES, str(count)), resources=bench.small)
    report = await bench.within(bench.provider.inspect(ref, wait=bench.pace.notice), "inspect")
    reported = report.reason is EndReason.DISK_FULL or report.exit_code == _FULL
    expect(reported, f"{count} files were reported as {report}")


@_check(Guarantee.PIDS)
async def open_files_of_a_process_are_bounded(bench: Bench) -> None:
    """One process cannot take the kernel's memory by opening files."""
    made = await bench.ask(await bench.shared(), _DESCRIPTORS, str(_MORE_FILES))
    expect(made < launch.MAX_OPEN_FILES, f"a process opened {made} files")


def unlimited() -> set[str]:
    """The checks that cannot be seen to fail on this machine, for it limits processes by itself."""
    enough = resource.getrlimit(resource.RLIMIT_NOFILE)[0] > _MORE_FILES
    return set() if enough else {open_files_of_a_process_are_bounded.name}


def _beside_a_neighbour(check: Check) -> Check:
    async def bomb(bench: Bench) -> None:
        neighbour = await bench.make()
        going = asyncio.ensure_future(check(bench))
        try:
            while not going.done():
                async with asyncio.timeout(_NEIGHBOUR_SECONDS):
                    answered = await bench.exec(neighbour, ["true"])
                expect(answered.exit_code == 0, f"a neighbour answered with {answered}")
                await asyncio.wait([going], timeout=_PAUSE_SECONDS)
            await going
        finally:
            going.cancel()

    return Check(check.name, check.guarantee, check.promise, bomb)


BOMBS = [
    _beside_a_neighbour(check)
    for check in (
        limits.the_number_of_processes_is_bounded,
        limits.too_much_memory_is_reported_as_that,
        limits.a_full_workspace_is_reported,
        limits.temporary_folders_are_bounded,
        *CHECKS,
    )
]
