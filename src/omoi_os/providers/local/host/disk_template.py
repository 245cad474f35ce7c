"""Empty file systems for the disks of sandboxes, created once and copied quickly."""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import omoi_os
from omoi_os.errors import ProviderError
from omoi_os.providers.guest.disk_watch import BYTES_PER_FILE
from omoi_os.providers.local.supervisor import disk

#: The smallest image that `mkfs` accepts.
MIN_BYTES = 4 * 1024 * 1024

_TRIAL = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); from omoi_os.providers.local.supervisor import disk; "
    "os.chdir(sys.argv[2]); disk.Image(0).attach(ended=False); "
    "sys.exit(not os.path.isdir('files/workspace'))"
)


@functools.cache
def works() -> bool:
    """Return whether images can be created and mounted here, after trying it."""
    if os.geteuid() != 0 or _mkfs() is None:
        return False
    source = str(Path(omoi_os.__file__).parent.parent)
    with tempfile.TemporaryDirectory(prefix="omoi-disk-") as folder:
        (Path(folder) / disk.FILES).mkdir()
        try:
            make(Path(folder) / disk.IMAGE, MIN_BYTES)
            command = [sys.executable, "-I", "-S", "-c", _TRIAL, source, folder]
            tried = subprocess.run(command, env={}, capture_output=True, timeout=20, check=False)
        except (OSError, ProviderError, subprocess.TimeoutExpired):
            return False
    return tried.returncode == 0


def make(path: Path, disk_bytes: int) -> None:
    """Create an empty image with that much space for files."""
    size, parts = _blank(max(disk_bytes, MIN_BYTES))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(fd, size)
        for offset, content in parts:
            os.pwrite(fd, content, offset)
    finally:
        os.close(fd)


@functools.lru_cache(maxsize=8)
def _blank(disk_bytes: int) -> tuple[int, tuple[tuple[int, bytes], ...]]:
    """Return the size of an empty file system, and the parts of it that are not zero."""
    tables = disk_bytes // BYTES_PER_FILE * 256
    reserve = disk.reserve_of(disk_bytes)
    # The file system reserves a fiftieth for itself, at most 16 MiB, and some for its own data.
    own = min(disk_bytes // 40, 16 << 20) + (1 << 18)
    size = (disk_bytes + tables + reserve + own) // 4096 * 4096
    options = ["-q", "-F", "-b", "4096", "-I", "256", "-i", str(BYTES_PER_FILE)]
    options += ["-m", f"{100 * reserve / size:.6f}", "-O", "^has_journal,^resize_inode"]
    options += ["-E", "lazy_itable_init=1,nodiscard"]
    with tempfile.NamedTemporaryFile(prefix="omoi-disk-") as file:
        file.truncate(size)
        made = subprocess.run([_mkfs() or "mkfs.ext4", *options, file.name], env={}, capture_output=True, check=False)
        if made.returncode != 0:
            message = made.stderr.decode(errors="replace").strip()
            raise ProviderError(f"A disk of {disk_bytes} bytes could not be created: {message[:500]}.")
        return size, tuple(_parts(file.fileno(), size))


def _parts(fd: int, size: int) -> list[tuple[int, bytes]]:
    parts = []
    at = 0
    while at < size:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            break
        at = os.lseek(fd, start, os.SEEK_HOLE)
        content = os.pread(fd, at - start, start)
        if content.strip(b"\0"):
            parts.append((start, content))
    return parts


def _mkfs() -> str | None:
    return shutil.which("mkfs.ext4", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
