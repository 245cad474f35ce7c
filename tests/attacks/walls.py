"""Attacks 25, 26, 31 and 32: what is beyond the workspace, and every way to get there."""

import json
import os

from omoi_os.conformance import collector, expect
from omoi_os.providers.conformance import Bench, Check, Guarantee, host
from tests.attacks.tries import expect_none
from tests.providers.weak import is_bare

READ: list[Check] = []
CHANGE: list[Check] = []
TYPE: list[Check] = []
CONNECT: list[Check] = []
_read, _change, _type, _connect = (collector(found) for found in (READ, CHANGE, TYPE, CONNECT))

_OPEN = """
import json, sys
try: open(sys.argv[1], sys.argv[2]).close(); print('true')
except OSError: print('false')
"""
CALL_SOCKET = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    try: connection.connect(sys.argv[1]); print('true')
    except OSError: print('false')
"""
#: In a separate mount namespace if possible, so that the host does not change even if nothing is refused.
_MOUNT = """
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, REMOUNT, BIND, REC, PRIVATE = 0x20000, 32, 4096, 16384, 1 << 18
if libc.unshare(NEWNS) == 0: libc.mount(b'none', b'/', None, ctypes.c_ulong(REC | PRIVATE), None)
tries = {
    'remount': (b'none', b'/', None, REMOUNT | BIND),
    'tmpfs': (b'none', b'/tmp', b'tmpfs', 0),
    'bind': (b'/usr', b'/tmp', None, BIND),
}
found = [name for name, given in tries.items() if libc.mount(*given[:3], ctypes.c_ulong(given[3]), None) == 0]
print(json.dumps(found))
"""
#: The last without arguments, so that nothing is made: only a filter says that there is no such call.
_CLONE = """
import ctypes, errno, json, os, sys
libc = ctypes.PyDLL(None, use_errno=True)
number, SIGCHLD, CLONE3 = {'x86_64': 56, 'aarch64': 220}[os.uname().machine], 17, 435
made = []
for name, flag in json.loads(sys.argv[1]).items():
    pid = libc.syscall(ctypes.c_long(number), ctypes.c_long(flag | SIGCHLD), *[ctypes.c_long(0)] * 4)
    if pid == 0: os._exit(0)
    if pid > 0: os.waitpid(pid, 0); made.append(name)
libc.syscall(ctypes.c_long(CLONE3), ctypes.c_long(0), ctypes.c_long(0))
if ctypes.get_errno() != errno.ENOSYS: made.append('clone3')
print(json.dumps(made))
"""
_GAIN = """
import json, os, stat
def device(kind):
    os.mknod('device', kind | 0o666, os.makedev(1, 3))
    os.unlink('device')
tries = {
    'disk': lambda: device(stat.S_IFBLK),
    'device': lambda: device(stat.S_IFCHR),
    'group': lambda: os.setgroups([0]),
    'root': lambda: os.setresuid(0, 0, 0),
}
found = []
for name, attempt in tries.items():
    try: attempt(); found.append(name)
    except OSError: pass
print(json.dumps(found))
"""
_TERMINAL = """
import json, os
try: os.close(os.open('/dev/tty', os.O_RDWR)); print('true')
except OSError: print('false')
"""
#: Into its own terminal: the kernel itself forbids others.
_TYPE = """
import fcntl, json, os, pty, select, sys, termios
outer, inner = pty.openpty()
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
    try: fcntl.ioctl(inner, int(sys.argv[1]), b'x')
    except OSError: os._exit(1)
    os._exit(0)
_, status = os.wait()
print(json.dumps(status == 0 and bool(select.select([outer], [], [], 2)[0])))
"""
_UNDER_A_TERMINAL = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))"
_TIOCSTI = 0x5412
_NAMESPACES = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "host_name": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "network": 0x40000000,
}
_UNIX_SOCKETS = "import json; print(json.dumps(open('/proc/net/unix').read()))"


@_read(Guarantee.ISOLATION)
async def passwords_of_the_system_cannot_be_read(bench: Bench) -> None:
    """`/etc/shadow` is not there, or not for us."""
    expect(not await bench.ask(await bench.shared(), _OPEN, "/etc/shadow", "rb"), "/etc/shadow was read")


@_read(Guarantee.ISOLATION)
async def sockets_of_the_host_with_a_path_are_out_of_reach(bench: Bench) -> None:
    """The database's, the engine's, or any other unix socket of the host cannot be connected to."""
    with host.folder() as folder:
        for name in (".s.PGSQL.5432", "docker.sock"):
            with host.gateway_listener(folder / name):
                reached = await bench.ask(await bench.shared(), CALL_SOCKET, str(folder / name))
            expect(not reached, f"{name} of the host was reached")


@_change(Guarantee.ISOLATION)
async def nothing_of_the_host_can_be_written(bench: Bench) -> None:
    """A folder of the host that everyone may write to is out of reach."""
    with host.folder() as folder:
        folder.chmod(0o777)
        made = await bench.ask(await bench.shared(), _OPEN, str(folder / "x"), "wb")
    expect(not made, "a file was made in a folder of the host")


@_change(Guarantee.ISOLATION)
async def no_program_can_be_put_among_the_systems(bench: Bench) -> None:
    """A new file in `/usr` is refused, not only by its mode."""
    path = f"/usr/omoi-attack-{os.getpid()}"
    made = await bench.ask(await bench.shared(), _OPEN, path, "wb")
    if made:
        await bench.exec(await bench.shared(), ["rm", path])
    expect(not made, "a file was made in /usr")


@_change(Guarantee.ISOLATION)
async def nothing_can_be_mounted(bench: Bench) -> None:
    """Neither the system writable, nor a new file system, nor a folder in another's place."""
    tried = ("remount", "tmpfs", "bind")
    expect_none(bench, tried, await bench.ask(await bench.shared(), _MOUNT), only_root=tried)


@_change(Guarantee.ISOLATION)
async def no_namespace_can_be_cloned(bench: Bench) -> None:
    """`clone` makes none of any kind, and `clone3`, whose flags no filter sees, is not there."""
    made = await bench.ask(await bench.shared(), _CLONE, json.dumps(_NAMESPACES))
    expect_none(bench, [*_NAMESPACES, "clone3"], made, only_root=[name for name in _NAMESPACES if name != "user"])


@_change(Guarantee.ISOLATION)
async def neither_devices_nor_root_can_be_had(bench: Bench) -> None:
    """No device can be made, and nobody gets another uid or group."""
    tried = ("disk", "device", "group", "root")
    expect_none(bench, tried, await bench.ask(await bench.shared(), _GAIN), only_root=tried)


@_type(Guarantee.ISOLATION)
async def there_is_no_terminal(bench: Bench) -> None:
    """A command has no controlling terminal, ours least of all."""
    # Where there is no wall, nobody hands a terminal on either, so there it gets one.
    program = bench.code(_TERMINAL)
    command = bench.code(_UNDER_A_TERMINAL, *program) if is_bare(bench) else program
    result = await bench.exec(await bench.shared(), command)
    expect(result.stdout.strip() == b"false", "a command has a controlling terminal")


@_type(Guarantee.ISOLATION)
async def nothing_can_be_typed_into_a_terminal(bench: Bench) -> None:
    """`TIOCSTI` is refused even for a terminal of the sandbox's own."""
    expect(not await bench.ask(await bench.shared(), _TYPE, str(_TIOCSTI)), "a letter was typed into a terminal")


@_connect(Guarantee.ISOLATION)
async def sockets_of_the_host_are_not_listed(bench: Bench) -> None:
    """The kernel's list of unix sockets names none of the host."""
    with host.abstract_listener() as name:
        listed = await bench.ask(await bench.shared(), _UNIX_SOCKETS)
    expect(name not in listed, "a socket of the host is listed")
