"""A real Docker engine for tests, shared by all test processes of this machine, and the image that they need.

It has its own socket and data folder. The data folder stays between runs, so that the image's base, which
cannot be pulled here and is made with debootstrap, is made only once.
"""

import contextlib
import fcntl
import hashlib
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
from docker.errors import DockerException, ImageNotFound

REPOSITORY = Path(__file__).parents[3]
PROGRAMS = {"dockerd": "docker.io", "containerd": "containerd", "debootstrap": "debootstrap"}
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
BASE = "omoi-test-base:1"
PACKAGES = "python3,python3-venv,ca-certificates,git"
IMAGE = "omoi-test-sandbox"

PLACE = Path(f"/var/tmp/omoi-docker-{hashlib.sha256(f'{SUITE}{PACKAGES}{BASE}'.encode()).hexdigest()[:8]}")
#: Short: a socket's path may have 107 bytes.
RUN = Path("/tmp") / PLACE.name
HOST = f"unix://{RUN}/docker.sock"

#: The machine's certificates hold what a company's proxy needs.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class Impossible(Exception):
    """No engine can run here; the message says why."""


@contextlib.contextmanager
def engine() -> Iterator[str]:
    """The address of the engine; it stops with the last test process that uses it."""
    if os.geteuid() != 0:
        raise Impossible("a Docker engine of the test's own can only be started by root")
    PLACE.mkdir(mode=0o700, exist_ok=True)
    ticket = PLACE / "users" / str(os.getpid())
    with _locked():
        _install()
        ticket.parent.mkdir(exist_ok=True)
        if not _is_up():
            _start()
        ticket.touch()
    try:
        yield HOST
    finally:
        with _locked():
            ticket.unlink()
            if not any(_lives(int(user.name)) for user in ticket.parent.iterdir()):
                _stop()


def image() -> str:
    """The image of the repository's Dockerfile as it is now, on a base made here."""
    tag = f"{IMAGE}:{_fingerprint()}"
    with _locked(), contextlib.closing(docker.DockerClient(HOST, timeout=600)) as client:
        try:
            client.images.get(tag)
        except ImageNotFound:
            _make_base(client)
            client.images.build(
                path=str(REPOSITORY), tag=tag, buildargs={"BASE": BASE}, network_mode="host", rm=True, forcerm=True
            )
            _remove_older(client)
    return tag


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    with (PLACE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install() -> None:
    missing = [package for name, package in PROGRAMS.items() if shutil.which(name) is None]
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise Impossible(f"{', '.join(missing)} are not installed, and there is no apt-get")
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    )
    if done.returncode:
        raise Impossible(f"{', '.join(missing)} could not be installed: {done.stderr.strip()[-500:]}")


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _is_up() -> bool:
    # Not by the client, which does not close what it could not connect.
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(HOST.removeprefix("unix://"))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b"200 OK" in connection.recv(4096)
        except OSError:
            return False


def _start() -> None:
    """Start the engine, without networks: sandboxes have none."""
    shutil.rmtree(RUN, ignore_errors=True)
    RUN.mkdir(mode=0o700)
    for user in (PLACE / "users").iterdir():
        user.unlink()
    networks = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
    places = ["--data-root", str(PLACE / "data"), "--exec-root", str(RUN / "exec"), "--pidfile", str(RUN / "pid")]
    with (RUN / "log").open("wb") as log:
        process = subprocess.Popen(
            ["dockerd", *networks, *places, "--cgroup-parent", f"/{PLACE.name}", "-H", HOST],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + 60
    while not _is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise Impossible(f"dockerd does not start here: {(RUN / 'log').read_text()[-1500:]}")
        time.sleep(0.05)
    # It outlives this process, if others still use it.
    process.returncode = 0


def _stop() -> None:
    pid = int((RUN / "pid").read_text())
    descriptor = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(60_000), "dockerd does not stop"
    os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    # A namespace is left mounted there, and the control groups' parent.
    subprocess.run(["umount", RUN / "exec/netns/default"], capture_output=True, check=False)
    for group in [*Path("/sys/fs/cgroup").glob(PLACE.name), *Path("/sys/fs/cgroup").glob(f"*/{PLACE.name}")]:
        group.rmdir()
    shutil.rmtree(RUN, ignore_errors=True)


def _make_base(client: docker.DockerClient) -> None:
    with contextlib.suppress(ImageNotFound):
        client.images.get(BASE)
        return
    with tempfile.TemporaryDirectory(prefix="root-", dir=PLACE) as root:
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, root, MIRROR]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Impossible(f"debootstrap failed: {done.stdout.strip()[-500:]}")
        for cache in Path(root, "var/cache/apt/archives").glob("*.deb"):
            cache.unlink()
        shutil.copy(CERTIFICATES, Path(root, "etc/ssl/certs/ca-certificates.crt"))
        Path(root, "etc/pip.conf").write_text(f"[global]\ncert = {CERTIFICATES}\n")
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as packing:
            assert packing.stdout is not None
            client.api.import_image_from_data(packing.stdout, *BASE.split(":"))


def _fingerprint() -> str:
    """Return a hash of everything that goes into the image."""
    digest = hashlib.sha256()
    source = (path for path in (REPOSITORY / "src/omoi_os").rglob("*") if "__pycache__" not in path.parts)
    for path in sorted([*source, *(REPOSITORY / name for name in ("Dockerfile", ".dockerignore", "pyproject.toml"))]):
        if path.is_file():
            digest.update(f"{path.relative_to(REPOSITORY)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _remove_older(client: docker.DockerClient) -> None:
    """Other test processes may still use the newest few."""
    for older in sorted(client.images.list(IMAGE), key=lambda image: image.attrs["Created"], reverse=True)[5:]:
        with contextlib.suppress(DockerException):
            client.images.remove(str(older.id))
    client.images.prune(filters={"dangling": True})
