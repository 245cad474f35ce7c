"""Everything that a command or a first process starts ends with it, whatever it does to escape."""

import asyncio
from datetime import timedelta

from omoi_os.conformance import collector, expect
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

#: Four processes, in other sessions and orphaned, that keep writing to `beats` and ignore all signals they can.
TREE = """
import os, signal, sys, time
def beat(name):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
    for end in (0, 1, 2): os.close(end)
    os.close(os.open('up-' + name, os.O_WRONLY | os.O_CREAT))
    file = os.open('beats', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    while True:
        os.write(file, b'x')
        time.sleep(0.02)
if os.fork() == 0: beat('child')
if os.fork() == 0:
    os.setsid()
    beat('session')
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork() == 0: beat('daemon')
    os._exit(0)
os.waitpid(middle, 0)
if sys.argv[1] == 'leave':
    while sum(name.startswith('up-') for name in os.listdir('.')) < 3: time.sleep(0.01)
    print('left')
    sys.exit(0)
beat('leader')
"""
#: Prints how many were started, and whether any still writes.
_LOOK = """
import json, os, time
def size(): return os.path.getsize('beats')
before = size(); time.sleep(0.5)
print(json.dumps([sum(name.startswith('up-') for name in os.listdir('.')), size() > before]))
"""
ALL_UP = """
import os, time
while sum(name.startswith('up-') for name in os.listdir('.')) < 4: time.sleep(0.01)
"""


@_check(Guarantee.COMMANDS)
async def a_timeout_kills_the_whole_tree(bench: Bench) -> None:
    """`TimeoutError` is raised once children, other sessions and daemons are dead; the sandbox stays alive."""
    ref = await bench.make()
    await _run_out(bench, ref)
    expect((await bench.provider.inspect(ref)).alive, "a command's timeout ended the sandbox")


@_check(Guarantee.COMMANDS)
async def a_timeout_after_the_end_kills_the_whole_tree(bench: Bench) -> None:
    """The same holds for commands that run after the first process has ended."""
    ref = await bench.make(["/bin/sh", "-c", ":"])
    await bench.end_of(ref)
    await _run_out(bench, ref)


@_check(Guarantee.COMMANDS)
async def a_timeout_is_raised_in_time(bench: Bench) -> None:
    """`TimeoutError` is raised soon after the timeout, not at the end of the command."""
    ref = await bench.shared()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await _expect_timeout(bench, ref, "import time; time.sleep(3600)", timedelta(seconds=1))
    took = loop.time() - began
    expect(took >= 1, f"the timeout of 1 s was raised after {took:.1f} s")
    expect(took < 1 + bench.pace.notice.total_seconds(), f"the timeout of 1 s was raised after {took:.1f} s")


@_check(Guarantee.COMMANDS)
async def a_cancelled_command_is_killed(bench: Bench) -> None:
    """When the caller cancels, nothing of the command keeps running."""
    ref = await bench.make()
    running = asyncio.create_task(bench.exec(ref, bench.code(TREE, "stay")))
    await bench.exec(ref, bench.code(ALL_UP))
    running.cancel()
    await asyncio.wait([running])
    expect(running.cancelled(), f"the cancelled command ended with {running}")
    await _expect_silence(bench, ref, up=4)


@_check(Guarantee.COMMANDS)
async def what_a_command_leaves_running_is_killed(bench: Bench) -> None:
    """Daemons neither delay the result nor keep running."""
    ref = await bench.make()
    result = await bench.exec(ref, bench.code(TREE, "leave"))
    expect(result.stdout == b"left\n", f"the command that left daemons ended with {result}")
    await _expect_silence(bench, ref, up=3)


@_check(Guarantee.LIFE)
async def what_the_first_process_leaves_running_dies_with_it(bench: Bench) -> None:
    """When the first process ends, so does everything in the sandbox."""
    ref = await bench.make(bench.code(TREE, "leave"))
    report = await bench.end_of(ref)
    expect(report.exit_code == 0, f"the first process ended as {report}")
    await _expect_silence(bench, ref, up=3)


async def _run_out(bench: Bench, ref: SandboxRef) -> None:
    await _expect_timeout(bench, ref, TREE, bench.pace.short)
    await _expect_silence(bench, ref, up=4)


async def _expect_timeout(bench: Bench, ref: SandboxRef, program: str, timeout: timedelta) -> None:
    try:
        result = await bench.exec(ref, bench.code(program, "stay"), timeout=timeout)
    except TimeoutError:
        return
    expect(False, f"no TimeoutError was raised; the command ended with {result}")


async def _expect_silence(bench: Bench, ref: SandboxRef, *, up: int) -> None:
    found, beating = await bench.ask(ref, _LOOK)
    expect(found == up, f"{found} of {up} processes started, so the check proves nothing; allow more time")
    expect(not beating, "some of its processes still run")
