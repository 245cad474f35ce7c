"""Limits are enforced, and exceeding one is reported."""

import math
from collections.abc import Awaitable

from omoi_os.conformance import collector, expect
from omoi_os.errors import ProviderError
from omoi_os.providers.base import EndReason, ExecResult
from omoi_os.providers.conformance.bench import MEBIBYTE, Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_HOG = """
import sys
held = bytearray(int(sys.argv[1]))
for at in range(0, len(held), 4096): held[at] = 1
"""
_SPIN = """
import json, os, sys, time
started, workers = time.monotonic(), []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() < started + 2: pass
        os._exit(0)
    workers.append(pid)
for pid in workers: os.waitpid(pid, 0)
used = os.times()
print(json.dumps([used.children_user + used.children_system, time.monotonic() - started]))
"""
_FORK = """
import json, os, sys
read, write = os.pipe()
made = 0
try:
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            os.close(write); os.read(read, 1); os._exit(0)
        made += 1
except OSError: pass
print(json.dumps(made), flush=True)
os.close(write)
for _ in range(made): os.wait()
"""
#: Writes to an unnamed file, so that nothing is left in any case. Then it waits, so that the use can be measured.
_FILL = """
import errno, json, os, signal, sys
folder, size = sys.argv[1], int(sys.argv[2])
block, files, error = os.urandom(1 << 20), [], None
try:
    for number in range(8):
        path = f'{folder}/fill-{number}'
        files.append(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if sys.argv[3] == 'unnamed': os.unlink(path)
        for _ in range(size // (8 << 20)): os.write(files[-1], block)
        os.fsync(files[-1])
except OSError as failure: error = errno.errorcode[failure.errno]
sys.exit(28 if error == 'ENOSPC' else 29 if error else 0) if error or sys.argv[4] == 'end' else signal.pause()
"""
_FULL = 28


@_check(Guarantee.MEMORY)
async def too_much_memory_is_reported_as_that(bench: Bench) -> None:
    """A first process that uses too much memory ends the sandbox as out of memory."""
    ref = await bench.make(bench.code(_HOG, str(3 * bench.small.memory_bytes)), resources=bench.small)
    report = await bench.end_of(ref)
    expect(report.reason is EndReason.OUT_OF_MEMORY, f"three times its memory was reported as {report}")


@_check(Guarantee.MEMORY)
async def the_memory_of_commands_is_bounded(bench: Bench) -> None:
    """A command that uses more memory than the sandbox may is killed."""
    ref = await bench.make(resources=bench.small)
    await _expect_killed(bench, bench.exec(ref, bench.code(_HOG, str(3 * bench.small.memory_bytes))))


@_check(Guarantee.MEMORY)
async def the_memory_of_commands_after_the_end_is_bounded(bench: Bench) -> None:
    """The limit is the same for commands that run after the first process has ended."""
    ref = await bench.make(["/bin/sh", "-c", ":"], resources=bench.small)
    await bench.end_of(ref)
    await _expect_killed(bench, bench.exec(ref, bench.code(_HOG, str(3 * bench.small.memory_bytes))))


@_check(Guarantee.CPU)
async def processor_time_is_bounded(bench: Bench) -> None:
    """More processes than processors get no more time than the limit of the sandbox."""
    ref = await bench.make(resources=bench.small)
    used, seconds = await bench.ask(ref, _SPIN, str(math.ceil(2 * bench.small.cpus) + 7))
    share = used / seconds
    # Quotas are counted per tenth of a second, so a short run may get a little more.
    expect(
        share <= 1.5 * bench.small.cpus + 0.1, f"{share:.2f} processors were used where {bench.small.cpus} are allowed"
    )


@_check(Guarantee.PIDS)
async def the_number_of_processes_is_bounded(bench: Bench) -> None:
    """A fork bomb stops at the limit, and commands still run after it."""
    ref = await bench.make(resources=bench.small)
    made = await bench.ask(ref, _FORK, str(bench.small.pids + 64))
    expect(made <= bench.small.pids, f"{made} processes were created where {bench.small.pids} are allowed")
    expect((await bench.sh(ref, "exit 0")).exit_code == 0, "after the fork bomb no command runs")


@_check(Guarantee.DISK)
async def a_full_workspace_is_reported(bench: Bench) -> None:
    """Writing too much fails with ENOSPC, or the sandbox is ended for its disk use."""
    wanted = 2 * bench.small.disk_bytes
    ref = await bench.make(bench.code(_FILL, ".", str(wanted), "named", "wait"), resources=bench.small)
    report = await bench.within(bench.provider.inspect(ref, wait=bench.pace.notice), "inspect")
    reported = report.reason is EndReason.DISK_FULL or report.exit_code == _FULL
    expect(
        reported, f"{wanted // MEBIBYTE} MiB in a workspace of {wanted // 2 // MEBIBYTE} MiB were reported as {report}"
    )


@_check(Guarantee.DISK)
async def a_full_home_is_reported(bench: Bench) -> None:
    """The home counts like the workspace."""
    wanted = 2 * bench.small.disk_bytes
    program = f"import os, sys\nsys.argv[1] = os.path.expanduser('~')\n{_FILL}"
    ref = await bench.make(bench.code(program, "", str(wanted), "named", "wait"), resources=bench.small)
    report = await bench.within(bench.provider.inspect(ref, wait=bench.pace.notice), "inspect")
    reported = report.reason is EndReason.DISK_FULL or report.exit_code == _FULL
    expect(reported, f"{wanted // MEBIBYTE} MiB in a home of {wanted // 2 // MEBIBYTE} MiB were reported as {report}")


@_check(Guarantee.DISK)
async def temporary_folders_are_bounded(bench: Bench) -> None:
    """`/tmp` and `/dev/shm` cannot take more than the limits of memory and disk together."""
    wanted = 2 * (bench.small.memory_bytes + bench.small.disk_bytes)
    for folder in ("/tmp", "/dev/shm"):  # noqa: S108
        ref = await bench.make(resources=bench.small)
        try:
            result = await bench.exec(ref, bench.code(_FILL, folder, str(wanted), "unnamed", "end"))
        except ProviderError:
            continue
        expect(result.exit_code != 0, f"{wanted // MEBIBYTE} MiB could be written to {folder}")


async def _expect_killed(bench: Bench, call: Awaitable[ExecResult]) -> None:
    try:
        result = await call
    except ProviderError:
        # A provider may end the whole sandbox for it.
        return
    amount = f"{3 * bench.small.memory_bytes // MEBIBYTE} MiB"
    expect(result.exit_code == 137, f"a command that takes {amount} ended with {result.exit_code}")
