"""What a hostile process inside a local sandbox can reach. Where it is cheap, the same probe succeeds outside."""

import asyncio
import errno
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxRef, SandboxSpec
from omoi_os.providers.local import seccomp
from omoi_os.providers.local.provider import LocalProvider

SOON = timedelta(seconds=30)

MakeSpec = Callable[..., SandboxSpec]
Probe = Callable[..., Awaitable[ExecResult]]

TRY_TO_READ = """
import sys
for path in sys.argv[1:]:
    try:
        open(path, 'rb').read(1)
        print('read', path)
    except OSError as error:
        print('no', path, error)
"""
TRY_TO_WRITE = TRY_TO_READ.replace("'rb').read(1)", "'ab').close()").replace("'read'", "'wrote'")
CALL = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, number in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(0)] * 6)
    found[name] = ctypes.get_errno() if result < 0 else 0
print(json.dumps(found))
"""
#: Denied calls that do no harm outside when all their arguments are zero.
HARMLESS = ("unshare", "keyctl", "process_vm_readv", "io_uring_setup", "pidfd_getfd")


def outside(code: str, *arguments: str) -> bytes:
    """Run the probe on this machine itself."""
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=30).stdout


def numbers(names: object = seccomp.DENIED) -> dict[str, int]:
    """The numbers of denied calls on this machine."""
    column = ("x86_64", "aarch64").index(os.uname().machine)
    found = {name: seccomp.DENIED[name][column] for name in names}  # type: ignore[attr-defined]
    return {name: number for name, number in found.items() if number is not None}


async def test_the_hosts_files_and_other_sandboxes_cannot_be_read(
    provider: LocalProvider, make_spec: MakeSpec, probe: Probe, root: Path, tmp_path: Path
) -> None:
    other = await provider.create(make_spec())
    await provider.write_file(other, f"{paths.HOME}/secret", b"secret")
    (tmp_path / "data").write_text("secret")
    hidden = [
        str(root / other / "spec.json"),
        str(root / other / "files" / "home" / "secret"),
        str(tmp_path / "data"),
        str(Path.home() / ".profile"),
        "/etc/hostname",
    ]

    inside = (await probe(TRY_TO_READ, *hidden, "/etc/shadow", "/etc/passwd")).stdout.decode().splitlines()

    assert [line.split()[0] for line in inside] == ["no"] * 6 + ["read"]
    seen = outside(TRY_TO_READ, hidden[0], hidden[2], hidden[4]).decode().splitlines()
    assert [line.split()[0] for line in seen] == ["read"] * 3
    names = (await probe("print(open('/etc/passwd').read())")).stdout.decode()
    assert [line.split(":")[0] for line in names.split()] == ["root", "agent", "nobody"]


async def test_only_home_workspace_and_temporary_folders_can_be_written(probe: Probe) -> None:
    closed = ["/x", "/etc/x", "/usr/x", "/usr/local/x", "/dev/x", "/run/x", "/home/x", "/var/x", "/proc/x"]
    closed += [f"{sys.prefix}/x", f"{sys.base_prefix}/x", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"]
    opened = ["/home/agent/x", "/workspace/x", "/tmp/x", "/var/tmp/x", "/dev/shm/x", "/dev/null"]

    lines = (await probe(TRY_TO_WRITE, *closed, *opened)).stdout.decode().splitlines()

    assert [line.split()[0] for line in lines] == ["no"] * len(closed) + ["wrote"] * len(opened), lines


async def test_temporary_folders_are_bounded(probe: Probe) -> None:
    fill = """
import errno, sys
try:
    with open(sys.argv[1] + '/fill', 'wb') as file:
        for _ in range(300): file.write(bytes(1 << 20))
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    for folder in ("/tmp", "/dev/shm"):
        assert (await probe(fill, folder)).stdout == b"ENOSPC\n"


async def test_there_is_no_network_but_the_sandboxs_own_loopback(probe: Probe) -> None:
    connect = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
    print('connected')
except OSError as error:
    print(type(error).__name__)
"""
    own = """
import socket
with socket.create_server(('127.0.0.1', 0)) as server:
    socket.create_connection(server.getsockname())
    print(sorted(name for _, name in socket.if_nameindex()))
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])

        assert (await probe(connect, "127.0.0.1", port)).stdout == b"ConnectionRefusedError\n"
        assert outside(connect, "127.0.0.1", port) == b"connected\n"
    assert (await probe(connect, "169.254.169.254", "80")).stdout == b"OSError\n"
    assert (await probe(own)).stdout == b"['lo']\n"


async def test_abstract_sockets_of_the_host_and_other_families_are_out_of_reach(probe: Probe) -> None:
    name = f"omoi-{secrets.token_hex(8)}"
    connect = """
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])
    print('connected')
except OSError as error:
    print(type(error).__name__)
"""
    families = """
import errno, socket
for family in (38, 40, 17, 31):
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print('made')
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()

        assert (await probe(connect, name)).stdout == b"ConnectionRefusedError\n"
        assert outside(connect, name) == b"connected\n"
    assert (await probe(families)).stdout == b"EAFNOSUPPORT\n" * 4


async def test_no_capability_is_left_and_none_can_be_gained(provider: LocalProvider, make_spec: MakeSpec) -> None:
    ref = await provider.create(make_spec(["sh", "-c", "cat /proc/self/status > /workspace/first; exec sleep 600"]))
    wait = "until grep -q Seccomp_filters /workspace/first; do :; done; cat /workspace/first /proc/self/status"
    both = await provider.exec(ref, ["sh", "-c", f"{wait}; id -u; id -G"], timeout=SOON)

    lines = both.stdout.decode().split("\n")
    capabilities = [line.split()[1] for line in lines if line.startswith("Cap")]
    assert capabilities == ["0" * 16] * 10
    assert [line.split()[1] for line in lines if line.startswith("NoNewPrivs")] == ["1", "1"]
    assert [line.split()[1] for line in lines if line.startswith("Seccomp:")] == ["2", "2"]
    assert lines[-3] != "0"
    if os.geteuid() == 0:
        assert lines[-2] == lines[-3]


async def test_dangerous_calls_are_refused(probe: Probe) -> None:
    inside = json.loads((await probe(CALL, json.dumps(numbers()))).stdout)
    without = json.loads(outside(CALL, json.dumps(numbers(HARMLESS))))

    assert inside == dict.fromkeys(numbers(), errno.EPERM)
    assert errno.EPERM not in without.values()


async def test_no_namespace_can_be_made_by_cloning(probe: Probe) -> None:
    clone = """
import ctypes, errno, os
libc = ctypes.PyDLL(None, use_errno=True)
number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]
def attempt(flags):
    pid = libc.syscall(ctypes.c_long(number), ctypes.c_long(flags | 17), *[ctypes.c_long(0)] * 4)
    if pid == 0: os._exit(0)
    if pid > 0: os.waitpid(pid, 0)
    return errno.errorcode[ctypes.get_errno()] if pid < 0 else 'made'
print(attempt(0), *(attempt(1 << bit) for bit in (17, 25, 26, 27, 28, 29, 30)))
ctypes.set_errno(0)
libc.syscall(ctypes.c_long(435), *[ctypes.c_long(0)] * 2)
print(errno.errorcode[ctypes.get_errno()])
"""
    assert (await probe(clone)).stdout.decode().split() == ["made", *["EPERM"] * 7, "ENOSYS"]


async def test_only_the_three_standard_descriptors_are_inherited(provider: LocalProvider, make_spec: MakeSpec) -> None:
    look = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import os; print([fd for fd in range(256) if os.path.exists(f'/proc/self/fd/{fd}')])",
    ]
    ref = await provider.create(make_spec(look))
    await provider.inspect(ref, wait=SOON)
    beside = await provider.create(make_spec())

    assert await provider.read_output(ref) == b"[0, 1, 2]\n"
    assert (await provider.exec(beside, look, timeout=SOON)).stdout == b"[0, 1, 2]\n"


async def test_no_process_of_the_host_can_be_seen_or_signalled(probe: Probe) -> None:
    look = "import os; print(max(int(n) for n in os.listdir('/proc') if n.isdigit()) < 100, os.uname().nodename)"

    assert (await probe(look)).stdout == b"True sandbox\n"


async def test_the_holder_cannot_be_looked_into_by_the_sandbox(probe: Probe, is_root: bool) -> None:
    kill = "import os\ntry:\n os.kill(2, 9)\n print('killed')\nexcept PermissionError:\n print('refused')"

    if is_root:
        assert (await probe(kill)).stdout == b"refused\n"
    assert b"bwrap --args" in (await probe("print(open('/proc/1/cmdline').read().replace(chr(0), ' '))")).stdout


async def test_links_planted_inside_lead_nowhere(provider: LocalProvider, sandbox: SandboxRef, tmp_path: Path) -> None:
    target = tmp_path / "outside"
    target.mkdir(mode=0o777)
    (target / "file").write_text("host")
    plant = f"""
import os
os.symlink('{target}', '/workspace/folder'); os.symlink('{target}/file', '/workspace/file')
os.symlink('/etc/shadow', '/home/agent/shadow'); os.mkfifo('/workspace/pipe'); os.mkdir('/workspace/real')
"""
    command = [sys.executable, "-I", "-S", "-c", plant]
    assert (await provider.exec(sandbox, command, timeout=SOON)).exit_code == 0

    for path in (
        "/workspace/folder/file",
        "/workspace/file",
        "/home/agent/shadow",
        "/workspace/pipe",
        "/workspace/real",
    ):
        with pytest.raises(ProviderError):
            await asyncio.wait_for(provider.read_file(sandbox, path), 10)
    with pytest.raises(ProviderError):
        await provider.write_file(sandbox, "/workspace/folder/new", b"x")
    await provider.write_file(sandbox, "/workspace/file", b"replaced")

    assert sorted(path.name for path in target.iterdir()) == ["file"]
    assert (target / "file").read_text() == "host"
    assert await provider.read_file(sandbox, "/workspace/file") == b"replaced"


async def test_nothing_can_be_typed_into_a_terminal(probe: Probe) -> None:
    type_into = """
import errno, fcntl, os, pty, termios
try:
    open('/dev/tty')
    print('has a terminal')
except OSError:
    print('none')
_, own = pty.openpty()
fcntl.ioctl(own, termios.TIOCSCTTY, 0)
try:
    fcntl.ioctl(own, termios.TIOCSTI, b'x')
    print('typed')
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    # Even of its own: the kernel itself would answer otherwise there.
    assert (await probe(type_into)).stdout == b"none\nEPERM\n"


async def test_tracing_the_first_process_is_refused_and_its_end_is_still_seen(
    provider: LocalProvider, make_spec: MakeSpec
) -> None:
    trace = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for pid in (1, 2, os.getpid()):
    libc.ptrace(16, pid, None, None)
    print(ctypes.get_errno())
"""
    ref = await provider.create(make_spec([sys.executable, "-I", "-S", "-c", trace]))

    report = await provider.inspect(ref, wait=SOON)

    assert report.exit_code == 0
    assert (await provider.read_output(ref)).split() == [str(errno.EPERM).encode()] * 3


async def test_processes_that_ignore_the_wish_to_stop_are_gone_when_the_sandbox_is(
    provider: LocalProvider, make_spec: MakeSpec
) -> None:
    mark = str(secrets.randbelow(10**9) + 10**9)
    deaf = f"""
import os, signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
open('/workspace/up' + str(os.getpid()), 'w')
time.sleep({mark})
"""
    ref = await provider.create(make_spec([sys.executable, "-I", "-S", "-c", deaf]))
    await provider.exec(ref, ["sh", "-c", "until [ $(ls /workspace/up* | wc -l) = 2 ]; do :; done"], timeout=SOON)
    await provider.exec(ref, ["sh", "-c", "kill -TERM $(ls /workspace | tr -d up)"], timeout=SOON)
    assert (await provider.inspect(ref)).alive

    def left() -> list[bytes]:
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        return [line for line in lines if mark.encode() in line]

    assert len(left()) == 2
    await provider.destroy(ref)
    assert left() == []


async def test_open_files_are_bounded_per_process(probe: Probe) -> None:
    bomb = """
import os
count = 0
try:
    while True:
        os.dup(0)
        count += 1
except OSError as error:
    print(count < 17000, error.errno)
"""
    assert (await probe(bomb)).stdout == f"True {errno.EMFILE}\n".encode()


async def test_devices_cannot_be_made_and_programs_gain_nothing_by_their_owner(probe: Probe) -> None:
    attempt = """
import errno, os, stat, subprocess
try:
    os.mknod('/workspace/disk', stat.S_IFBLK | 0o666, os.makedev(7, 0))
    print('made')
except OSError as error:
    print(errno.errorcode[error.errno])
for word in ('nosuid', 'nodev'):
    for path in ('/workspace', '/home/agent', '/tmp'):
        line = next(line for line in open('/proc/self/mounts') if line.split()[1] == path)
        print(word in line.split()[3].split(','))
"""
    assert (await probe(attempt)).stdout.split() == [b"EPERM", *[b"True"] * 6]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/workspace/../etc/passwd",
        "/workspace",
        "/workspace/",
        "relative",
        "/workspacex/a",
        "/home/agent/a\0b",
    ],
)
async def test_paths_outside_home_and_workspace_are_refused(
    provider: LocalProvider, sandbox: SandboxRef, path: str
) -> None:
    with pytest.raises(ProviderError):
        await provider.read_file(sandbox, path)
    with pytest.raises(ProviderError):
        await provider.write_file(sandbox, path, b"x")
