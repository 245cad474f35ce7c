"""A disk whose power can be cut: an ext4 image on a loop device, shut down without flushing its journal."""

import contextlib
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

#: EXT4_IOC_SHUTDOWN, and the flag that keeps even the journal from being written.
_SHUTDOWN = 0x8004587D
_WITHOUT_FLUSH = 2


def why_not() -> str | None:
    """Why the power cannot be cut here; None if it can."""
    if os.geteuid() != 0:
        return "mounting a disk image needs root"
    if shutil.which("mkfs.ext4", path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
        return "mkfs.ext4 is not installed"
    if not Path("/dev/loop-control").exists():
        return "this machine has no loop devices"
    return None


needs_power = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


class Disk:
    """One disk, mounted at `path` until its power is cut."""

    def __init__(self, folder: Path, *, megabytes: int) -> None:
        self.path = folder / "m"
        self._image = folder / "image"
        self._folder = folder
        self.path.mkdir()
        with self._image.open("wb") as image:
            image.truncate(megabytes << 20)
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1,nodiscard", str(self._image))
        try:
            self.mount()
        except AssertionError as error:
            pytest.skip(f"root may not mount a disk image here: {error}")

    def mount(self) -> None:
        """Switch it on. Unsynced data stays in memory for as long as ext4's options allow."""
        _run("mount", "-o", "loop,commit=300", str(self._image), str(self.path))

    def cut(self) -> None:
        """Cut the power: nothing that is not on disk by now will ever be. Those who use it get errors from here on."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(descriptor)

    def restore(self) -> None:
        """Switch the power on again: the same path has what was on disk at the cut.

        A copy is mounted, because the kernel keeps the old file system for as long as anything still refers to it.
        """
        _run("umount", "-l", str(self.path))
        copy = self._image.with_suffix(".next")
        _run("cp", "--sparse=always", str(self._image), str(copy))
        self._image.unlink()
        copy.rename(self._image)
        self.mount()

    @contextlib.contextmanager
    def remains(self) -> Iterator[Path]:
        """What is left after the cut, mounted elsewhere: those who used it need not be gone."""
        copy, place = self._folder / "copy", self._folder / "r"
        place.mkdir()
        _run("cp", "--sparse=always", str(self._image), str(copy))
        _run("mount", "-o", "loop", str(copy), str(place))
        try:
            yield place
        finally:
            _run("umount", str(place))
            place.rmdir()
            copy.unlink()


@contextlib.contextmanager
def a_disk(*, megabytes: int = 96) -> Iterator[Disk]:
    """A disk below a short path, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="pc-", dir="/tmp"))
    disk = Disk(folder, megabytes=megabytes)
    try:
        yield disk
    finally:
        if disk.path.is_mount():
            _run("umount", "-l", str(disk.path))
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: str) -> None:
    environment = {"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
