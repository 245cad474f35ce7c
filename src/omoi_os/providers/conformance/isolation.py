"""Nothing of the host or of other sandboxes is visible or writable, and no privilege can be gained."""

from pathlib import PurePosixPath

from omoi_os.conformance import collector, expect
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.conformance import host
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_READ = """
import json, os, sys
found = []
for path in sys.argv[1:]:
    try: open(path, 'rb').read(1); found.append(path)
    except OSError: pass
print(json.dumps(found))
"""
#: The text to search for is read from standard input, so that the search does not find itself.
SEARCH = """
import json, os, sys
secret, found = sys.stdin.buffer.read(), []
for pid in os.listdir('/proc'):
    for name in ('environ', 'cmdline') if pid.isdigit() else ():
        try:
            if secret in open(f'/proc/{pid}/{name}', 'rb').read(): found.append(f'/proc/{pid}/{name}')
        except OSError: pass
print(json.dumps(found))
"""
_LEAVE = """
import json, os, sys
found = []
for folder in ('.', os.environ.get('HOME', '.'), '/tmp', '/dev/shm', '/var/tmp'):
    path = os.path.join(os.path.realpath(folder), sys.argv[1])
    try: open(path, 'w').write('secret'); found.append(path)
    except OSError: pass
print(json.dumps(found))
"""
_REMOVE = "import os, sys\nfor path in sys.argv[1:]: os.unlink(path)"
_KEY = """
import ctypes, json, sys
call = ctypes.CDLL(None, use_errno=True).syscall
found = call(ctypes.c_long(int(sys.argv[1])), b'user', sys.argv[2].encode(), None, ctypes.c_long(0))
print(json.dumps(found >= 0))
"""
_DESCRIPTORS = """
import json, os
found = []
for fd in range(3, 1024):
    try: os.fstat(fd); found.append(fd)
    except OSError: pass
print(json.dumps(found))
"""
_WRITABLE = "import json, os, sys; print(json.dumps([path for path in sys.argv[1:] if os.access(path, os.W_OK)]))"
_PRIVILEGES = """
import json, os
lines = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)
held = [name for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb') if int(lines[name], 16)]
found = [f'{name} is {lines[name].strip()}' for name in held]
if os.getuid() == 0 or os.geteuid() == 0: found.append('it runs as root')
if lines['NoNewPrivs'].strip() != '1': found.append('setuid programs gain privileges')
print(json.dumps(found))
"""
_NAMESPACES = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
kinds = {'user': 0x10000000, 'mount': 0x20000, 'network': 0x40000000}
print(json.dumps([kind for kind, flag in kinds.items() if libc.unshare(flag) == 0]))
"""


@_check(Guarantee.ISOLATION)
async def files_of_the_host_are_not_seen(bench: Bench) -> None:
    """A file that everyone on the host may read cannot be read, not even by a detour."""
    with host.secret_file() as (path, _):
        around = [str(path), f"/proc/1/root{path}", f"/proc/self/root{path}"]
        found = await bench.ask(await bench.shared(), _READ, *around)
    expect(not found, f"a file of the host was read as {found}")


@_check(Guarantee.ISOLATION)
async def files_of_other_sandboxes_are_not_seen(bench: Bench) -> None:
    """Files that one sandbox writes wherever it can are not visible in another."""
    one, other = await bench.make(), await bench.make()
    left = await bench.ask(one, _LEAVE, f"omoi-{one}")
    expect(left, "the first sandbox could not write a file")
    found = await bench.ask(other, _READ, *left)
    await bench.exec(one, bench.code(_REMOVE, *left))
    expect(not found, f"another sandbox's files were read: {found}")


@_check(Guarantee.ISOLATION)
async def processes_of_the_host_are_not_seen(bench: Bench) -> None:
    """No process of the host is in `/proc`."""
    with host.secret_process() as secret:
        await _expect_unseen(bench, await bench.shared(), secret, "a process of the host")


@_check(Guarantee.ISOLATION)
async def processes_of_other_sandboxes_are_not_seen(bench: Bench) -> None:
    """No process of another sandbox is in `/proc`."""
    other = await bench.make(bench.code("import signal\nwhile True: signal.pause()", "its-own-secret-1729"))
    await bench.exec(other, ["true"])
    await _expect_unseen(bench, await bench.shared(), "its-own-secret-1729", "a process of another sandbox")


@_check(Guarantee.ISOLATION)
async def the_launchers_environment_is_not_seen(bench: Bench) -> None:
    """Nothing of our own environment is in any process's environment or command line."""
    with host.secret_variable() as secret:
        ref = await bench.make()
        await _expect_unseen(bench, ref, secret, "our own environment")
        first = await bench.ask_first("import json, os\nprint(json.dumps(list(os.environ.values())))")
    expect(secret not in first, "our own environment was given to the first process")


@_check(Guarantee.ISOLATION)
async def keys_of_the_host_are_not_found(bench: Bench) -> None:
    """A key in our session's keyring cannot be found by its name."""
    with host.secret_key() as name:
        ref = await bench.make()
        machine = await bench.ask(ref, "import json, os; print(json.dumps(os.uname().machine))")
        found = await bench.ask(ref, _KEY, str(host.KEY_CALLS[machine][1]), name)
    expect(not found, "a key of the host's session was found")


@_check(Guarantee.ISOLATION)
async def no_descriptor_is_inherited(bench: Bench) -> None:
    """Commands and the first process have their three standard streams and no more."""
    with host.secret_descriptor():
        ref = await bench.make()
        beside = await bench.ask(ref, _DESCRIPTORS)
        # Of the first process's own, one is the file that it answers in.
        first = (await bench.ask_first(_DESCRIPTORS))[1:]
    expect(not beside, f"a command inherited the descriptors {beside}")
    expect(not first, f"the first process inherited {len(first)} descriptors")


@_check(Guarantee.ISOLATION)
async def the_system_cannot_be_changed(bench: Bench) -> None:
    """System folders, kernel settings and the worker's files are not writable."""
    runtime = bench.provider.runtime
    own = [runtime.source, f"{runtime.source}/omoi_os", str(PurePosixPath(runtime.python).parent)]
    system = [
        "/",
        "/usr",
        "/usr/bin",
        "/usr/local",
        "/etc",
        "/bin",
        "/lib",
        "/var",
        "/opt",
        "/proc/sys/kernel/hostname",
    ]
    found = await bench.ask(await bench.shared(), _WRITABLE, *system, *own)
    expect(not found, f"these paths are writable: {', '.join(found)}")


@_check(Guarantee.ISOLATION)
async def there_are_no_privileges(bench: Bench) -> None:
    """Commands and the first process are not root, have no capabilities and cannot gain any."""
    for who, found in (
        ("a command", await bench.ask(await bench.shared(), _PRIVILEGES)),
        ("the first process", await bench.ask_first(_PRIVILEGES)),
    ):
        expect(not found, f"of {who}: {', '.join(found)}")


@_check(Guarantee.ISOLATION)
async def no_namespace_can_be_made(bench: Bench) -> None:
    """New user, mount and network namespaces, the way to most kernel faults, are refused."""
    found = await bench.ask(await bench.shared(), _NAMESPACES)
    expect(not found, f"new namespaces could be created: {', '.join(found)}")


@_check(Guarantee.ISOLATION)
async def commands_after_the_end_are_isolated_too(bench: Bench) -> None:
    """The isolation is the same for commands that run after the first process has ended."""
    ref = await bench.make(["/bin/sh", "-c", ":"])
    await bench.end_of(ref)
    with host.secret_file() as (path, _), host.secret_process() as secret:
        expect(not await bench.ask(ref, _READ, str(path)), "a file of the host was read")
        await _expect_unseen(bench, ref, secret, "a process of the host")
    found = await bench.ask(ref, _PRIVILEGES)
    expect(not found, ", ".join(found))


async def _expect_unseen(bench: Bench, ref: SandboxRef, secret: str, what: str) -> None:
    found = await bench.ask(ref, SEARCH, stdin=secret.encode())
    expect(not found, f"{what} was seen in {', '.join(found[:3])}")
