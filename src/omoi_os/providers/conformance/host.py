"""Things of the host that no sandbox may see, each present while its check runs."""

import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Numbers of `add_key`, `request_key` and `keyctl`, by machine.
KEY_CALLS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}

#: Keyrings: of a session, and of all processes with one uid.
SESSION_KEYRING, USER_KEYRING = -3, -4

_UNLINK = 9


@contextmanager
def folder() -> Iterator[Path]:
    """Create a folder of this machine that everyone may enter."""
    # A short path: sockets are created in it.
    made = Path(tempfile.mkdtemp(prefix="omoi-", dir="/tmp"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def secret_file() -> Iterator[tuple[Path, str]]:
    """Create a file that everyone on this machine may read; yield its path and content."""
    with folder() as made:
        secret = secrets.token_hex(16)
        path = made / "secret"
        path.write_text(secret)
        path.chmod(0o644)
        yield path, secret


@contextmanager
def secret_process() -> Iterator[str]:
    """Start a process of this machine with a secret on its command line."""
    secret = secrets.token_hex(16)
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()", secret]
    with subprocess.Popen(command, stdin=subprocess.PIPE):
        yield secret


@contextmanager
def secret_variable() -> Iterator[str]:
    """Put a secret in our own environment, which our children inherit unless that is prevented."""
    secret = secrets.token_hex(16)
    name = f"OMOI_SECRET_{secret[:8].upper()}"
    os.environ[name] = secret
    try:
        yield secret
    finally:
        del os.environ[name]


@contextmanager
def secret_descriptor() -> Iterator[int]:
    """Open a file that our children inherit unless that is prevented."""
    with tempfile.TemporaryFile() as file:
        os.set_inheritable(file.fileno(), True)
        yield file.fileno()


@contextmanager
def secret_key(keyring: int = SESSION_KEYRING) -> Iterator[str]:
    """Add a key to our session's keyring, or another of ours; yield its description."""
    name = f"omoi-{secrets.token_hex(8)}"
    add, _, control = KEY_CALLS[os.uname().machine]
    call = ctypes.CDLL(None, use_errno=True).syscall
    ring = ctypes.c_long(keyring)
    key = call(ctypes.c_long(add), b"user", name.encode(), b"secret", ctypes.c_size_t(6), ring)
    try:
        yield name
    finally:
        if key >= 0:
            call(ctypes.c_long(control), ctypes.c_long(_UNLINK), ctypes.c_long(key), ring, 0, 0)


@contextmanager
def listener() -> Iterator[int]:
    """Start a service on this machine's loopback; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@contextmanager
def abstract_listener() -> Iterator[str]:
    """Start a service on an abstract unix socket; yield its name."""
    name = f"omoi-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        yield name


@contextmanager
def gateway_listener(path: Path) -> Iterator[socket.socket]:
    """Start a service on a unix socket with this path, open to everyone."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))
        path.chmod(0o666)
        server.listen()
        server.setblocking(False)
        try:
            yield server
        finally:
            path.unlink()
