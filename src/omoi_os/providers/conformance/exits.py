"""How a sandbox ended is reported, promptly and correctly."""

import asyncio
from datetime import timedelta

from omoi_os.conformance import collector, expect
from omoi_os.protocol import paths
from omoi_os.providers.base import EndReason
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_UNTIL_TOLD = "import os, sys, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nsys.exit(4)"


@_check(Guarantee.ENDINGS)
async def the_exit_code_of_the_first_process_is_reported(bench: Bench) -> None:
    """Exit codes are reported unchanged, also those that look like signals."""
    for code in (0, 3, 137):
        report = await bench.end_of(await bench.make(["/bin/sh", "-c", f"exit {code}"]))
        reported = (report.reason, report.exit_code, report.signal)
        expect(reported == (EndReason.EXITED, code, None), f"exit {code} was reported as {report}")


@_check(Guarantee.ENDINGS)
async def a_signal_is_distinguished_from_an_exit(bench: Bench) -> None:
    """The signal that killed the first process is reported as a signal."""
    for number in (9, 15):
        report = await bench.end_of(await bench.make(["/bin/sh", "-c", f"kill -{number} $$"]))
        reported = (report.reason, report.exit_code, report.signal)
        expect(reported == (EndReason.SIGNALLED, None, number), f"signal {number} was reported as {report}")


@_check(Guarantee.ENDINGS)
async def the_lifetime_is_enforced_without_us(bench: Bench) -> None:
    """A sandbox ends when its lifetime is over, and that reason is reported."""
    ref = await bench.make(lifetime=bench.pace.lifetime)
    bench.restart()
    allowed = bench.pace.lifetime + bench.pace.notice
    report = await bench.within(bench.provider.inspect(ref, wait=allowed), "inspect")
    expect(not report.alive, f"it is alive {allowed.total_seconds():g} s after its start")
    expect(report.reason is EndReason.LIFETIME, f"the end of its lifetime was reported as {report}")


@_check(Guarantee.ENDINGS)
async def waiting_for_the_end_wakes_when_it_comes(bench: Bench) -> None:
    """`inspect` with `wait` answers soon after the end, not when the wait is over."""
    ref = await bench.make(bench.code(_UNTIL_TOLD))
    waiting = asyncio.ensure_future(bench.provider.inspect(ref, wait=timedelta(hours=1)))
    await bench.sh(ref, ": > go")
    done, _ = await asyncio.wait([waiting], timeout=bench.pace.notice.total_seconds())
    if not done:
        waiting.cancel()
        await asyncio.wait([waiting])
    expect(done, f"the end was not reported within {bench.pace.notice.total_seconds():g} s")
    report = waiting.result()
    expect((report.alive, report.exit_code) == (False, 4), f"exit 4 was reported as {report}")


@_check(Guarantee.ENDINGS)
async def waiting_for_an_end_that_does_not_come_says_alive(bench: Bench) -> None:
    """`inspect` with `wait` answers as alive when the wait is over."""
    report = await bench.within(
        bench.provider.inspect(await bench.shared(), wait=timedelta(milliseconds=300)), "inspect with a short wait"
    )
    expect(report.alive and report.reason is None, f"a living sandbox was reported as {report}")


@_check(Guarantee.ENDINGS)
async def how_it_ended_is_known_after_a_restart(bench: Bench) -> None:
    """A new provider object reports how a sandbox ended that an older one created."""
    ref = await bench.make(["/bin/sh", "-c", "exit 6"])
    await bench.end_of(ref)
    bench.restart()
    report = await bench.provider.inspect(ref)
    expect((report.reason, report.exit_code) == (EndReason.EXITED, 6), f"exit 6 was reported as {report}")


@_check(Guarantee.ENDINGS)
async def output_that_nobody_reads_holds_up_nothing(bench: Bench) -> None:
    """A first process that prints megabytes is not blocked."""
    flood = "import os\nfor _ in range(64): os.write(1, bytes(65536)), os.write(2, bytes(65536))"
    report = await bench.end_of(await bench.make(bench.code(flood)))
    expect(report.exit_code == 0, f"a process that printed much was reported as {report}")


@_check(Guarantee.ENDINGS)
async def files_can_be_read_after_the_end(bench: Bench) -> None:
    """The files of the first process stay until the sandbox is destroyed."""
    ref = await bench.make(["/bin/sh", "-c", "echo work > result; echo home > ~/result"])
    await bench.end_of(ref)
    for path, wanted in ((f"{paths.WORKSPACE}/result", b"work\n"), (f"{paths.HOME}/result", b"home\n")):
        found = await bench.provider.read_file(ref, path)
        expect(found == wanted, f"{path} was read as {found[:80]!r} after the end")


@_check(Guarantee.ENDINGS)
async def commands_run_after_the_end(bench: Bench) -> None:
    """Unfinished work can be salvaged: commands see the files, change them, and have the same environment."""
    env = {"PATH": "/usr/bin:/bin", "HOME": paths.HOME, "MARK": "as given"}
    ref = await bench.make(["/bin/sh", "-c", "echo work > result; exit 2"], env=env)
    await bench.end_of(ref)
    bench.restart()
    result = await bench.sh(ref, 'cat result - && pwd && echo "$MARK" && echo saved > ~/saved', stdin=b"given\n")
    expect(
        result.stdout == f"work\ngiven\n{paths.WORKSPACE}\nas given\n".encode(),
        f"a command after the end gave {result}",
    )
    expect(
        await bench.provider.read_file(ref, f"{paths.HOME}/saved") == b"saved\n", "the file that it wrote is missing"
    )
    report = await bench.provider.inspect(ref)
    expect((report.alive, report.exit_code) == (False, 2), f"after a command the end was reported as {report}")
