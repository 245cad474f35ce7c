"""Attack 27: calls of the kernel that nothing here needs, and tracing the process that holds the sandbox."""

import asyncio
import errno
import json
import os

from omoi_os.conformance import collector, expect
from omoi_os.providers.conformance import Bench, Check, Guarantee
from omoi_os.providers.local.host import seccomp
from tests.attacks.tries import expect_none
from tests.providers.weak import is_bare

CHECKS: list[Check] = []
_check = collector(CHECKS)

#: With arguments that make no sense to any of them, so that nothing happens where they are not refused.
_CALL = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, number in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    found[name] = ctypes.get_errno() if result < 0 else 0
print(json.dumps(found))
"""
_COLUMN = ("x86_64", "aarch64").index(os.uname().machine)

#: What the filter refuses, with the numbers on this machine.
_DANGEROUS = {name: number for name, row in seccomp.DENIED.items() if (number := row[_COLUMN]) is not None}
#: What is refused to nobody by the kernel itself.
_FOR_ALL = ("unshare", "keyctl", "process_vm_readv", "ptrace", "kcmp", "pidfd_getfd")
_END_WHEN_TOLD = """
import os, sys, time
open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid')
while not os.path.exists('go'): time.sleep(0.01)
sys.exit(7)
"""
_TRACE = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
ATTACH, SEIZE = 16, 0x4206
tries = [(how, int(pid)) for how in (SEIZE, ATTACH) for pid in sys.argv[1:]]
print(json.dumps([pid for how, pid in tries if libc.ptrace(how, pid, 0, 0) == 0]))
"""
_END_SECONDS = 2.0


@_check(Guarantee.ISOLATION)
async def dangerous_calls_are_refused(bench: Bench) -> None:
    """Every call on the list of the filter, io_uring, bpf, performance counters, kexec and keys among them."""
    # Of them, one has no arguments, and hangs up the caller's terminal.
    tried = {name: number for name, number in _DANGEROUS.items() if name != "vhangup" or not is_bare(bench)}
    found = await bench.ask(await bench.shared(), _CALL, json.dumps(tried))
    through = [name for name, number in found.items() if number != errno.EPERM]
    expect_none(bench, tried, through, only_root=[name for name in tried if name not in _FOR_ALL])


@_check(Guarantee.ISOLATION)
async def the_first_process_cannot_be_traced_and_its_end_is_seen(bench: Bench) -> None:
    """Neither the sandbox nor its guest can be traced, and its end is reported at once."""
    ref = await bench.make(bench.code(_END_WHEN_TOLD))
    # Without walls the process with the number 1 is the host's.
    targets = [await bench.file_of(ref, "pid"), *([] if is_bare(bench) else ["1", "2"])]
    traced = await bench.ask(ref, _TRACE, *targets)
    expect(not traced, f"traced were {traced}")
    loop = asyncio.get_running_loop()
    began = loop.time()
    await bench.provider.write_file(ref, "/workspace/go", b"go")
    report = await bench.end_of(ref)
    expect(report.exit_code == 7, f"an exit with 7 was reported as {report}")
    took = loop.time() - began
    expect(took < _END_SECONDS, f"the end was reported after {took:.1f} s")
