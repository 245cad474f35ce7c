"""A sandbox's disk as its supervisor uses it: an image with its own file system, or a folder that is measured."""

# Paths are strings here: pathlib alone would double the supervisor's start.
# ruff: noqa: PTH101

import errno
import fcntl
import os
import select
import sys
import time

from omoi_os.protocol import paths
from omoi_os.providers.guest import kernel
from omoi_os.providers.guest.disk_watch import BYTES_PER_FILE
from omoi_os.providers.local.supervisor import overlay

#: The folder below the sandbox's that contains the home and the workspace, or that the image is mounted on.
FILES = "files"
IMAGE = "disk.img"

#: The program that measures a folder.
DU = "/usr/bin/du"

#: The folders in `FILES`: name, mode, and where it is mounted inside.
FOLDERS = (("home", 0o700, paths.HOME), ("workspace", 0o755, paths.WORKSPACE))

#: How often the use is measured, and how many times in a row an image must be full before the sandbox is ended: a full
#: disk can be cleaned up from inside, but neither events nor work can be stored on one that stays full.
LOOK_SECONDS = 2.0
FULL_LOOKS = 3

#: A uid that no process has.
_NOBODY = 65534

#: An image with no more free space than this is full.
_FULL_BYTES = 2 * 1024 * 1024

#: Measuring uses at most this share of a processor.
_SHARE = 0.1

_LOOP_CONFIGURE, _LOOP_GET_FREE = 0x4C0A, 0x4C82
_FLAGS_AT, _AUTOCLEAR, _CONFIG_BYTES = 60, 4, 304


def reserve_of(limit: int) -> int:
    """Return how much more may be used after the sandbox ended, so that work on a full disk can still be salvaged."""
    return min(limit // 8, 16 * 1024 * 1024)


class Image:
    """A file system in a file, mounted where only the sandbox and its bwrap see it, so it is unmounted with them."""

    def __init__(self, uid: int, *, tree: str | None = None) -> None:
        self.uid = uid
        #: The files of the prepared checkout under the workspace.
        self._tree = tree
        self.deadline = 0.0
        self._looks = 0
        self._fd = -1

    def attach(self, *, ended: bool) -> None:
        """Mount it, in the process that becomes bwrap."""
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount("none", "/", "none", flags=kernel.MS_REC | kernel.MS_SLAVE)
        # An overlay writes as root, which owns the reserve by default; nobody may use it until the sandbox has ended.
        reserve = f"resgid={self.uid}" if ended else f"resuid={_NOBODY}"
        options = f"nobarrier,noinit_itable,errors=remount-ro,{reserve}"
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOATIME
        name, device = _attach_loop(IMAGE)
        kernel.mount(name, FILES, "ext4", flags=flags, options=options)
        os.close(device)
        for name, mode, _ in FOLDERS:
            if not os.access(f"{FILES}/{name}", os.F_OK):
                os.mkdir(f"{FILES}/{name}")  # noqa: PTH102
                os.chmod(f"{FILES}/{name}", mode)
                os.chown(f"{FILES}/{name}", self.uid, self.uid)
        overlay.mount_layer(f"{FILES}/workspace", tree=self._tree, uid=self.uid, is_new=not ended)

    def open(self, init: int, *, poll: select.poll) -> None:
        """Use the disk of the sandbox that has this first process."""
        self._fd = os.open(f"/proc/{init}/root{paths.WORKSPACE}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._looks = 0
        self.deadline = time.monotonic() + LOOK_SECONDS

    def close(self) -> None:
        """Stop using the disk: the sandbox's processes are gone."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def look(self, ready: set[int]) -> bool:
        """Return whether the sandbox must end because of its disk use."""
        if time.monotonic() >= self.deadline:
            self.deadline = time.monotonic() + LOOK_SECONDS
            self._looks = self._looks + 1 if self.is_full() else 0
        return self._looks >= FULL_LOOKS

    def is_full(self) -> bool:
        """Return whether the sandbox cannot write any more."""
        if self._fd < 0:
            return False
        facts = os.fstatvfs(self._fd)
        # A large write that fails leaves a little space free.
        scraps = min(facts.f_blocks // 16, _FULL_BYTES // facts.f_frsize)
        return facts.f_bavail <= scraps or facts.f_favail == 0

    def used(self) -> int | None:
        """Return the bytes in use, if it is open."""
        if self._fd < 0:
            return None
        facts = os.fstatvfs(self._fd)
        return (facts.f_blocks - facts.f_bfree) * facts.f_frsize


class Watched:
    """A plain folder, measured from time to time with `du`, in bytes and in files alternately."""

    def __init__(self, limit: int) -> None:
        self.deadline = 0.0
        self._limits = {"bytes": limit, "files": limit // BYTES_PER_FILE}
        self._reserves = {kind: reserve_of(most) for kind, most in self._limits.items()}
        self._use: dict[str, int] = {}
        self._measured = "files"
        self._poll = select.poll()
        self._pipe = -1
        self._pid = 0
        self._started = 0.0

    def attach(self, *, ended: bool) -> None:
        """Do nothing: there is nothing to mount."""

    def open(self, init: int, *, poll: select.poll) -> None:
        """Start to measure."""
        self._poll = poll
        self.deadline = time.monotonic() + LOOK_SECONDS

    def close(self) -> None:
        """Stop measuring. What may be used while the work is salvaged is counted from here."""
        for kind, reserve in self._reserves.items():
            self._limits[kind] = max(self._limits[kind], self._use.get(kind, 0) + reserve)
        if self._pipe >= 0:
            os.kill(self._pid, kernel.SIGKILL)
            self._finish()
        self.deadline = float("inf")

    def look(self, ready: set[int]) -> bool:
        """Return whether the sandbox must end because of its disk use."""
        if self._pipe in ready:
            self._finish()
        elif self._pipe < 0 and time.monotonic() >= self.deadline:
            self._measure()
        return self.is_full()

    def is_full(self) -> bool:
        """Return whether it was over its limit when last measured."""
        return any(count > self._limits[kind] for kind, count in self._use.items())

    def used(self) -> int | None:
        """Return the bytes in use when last measured."""
        return self._use.get("bytes")

    def _measure(self) -> None:
        self._measured = "files" if self._measured == "bytes" else "bytes"
        unit = ["--block-size=1"] if self._measured == "bytes" else ["--inodes"]
        self._pipe, output = os.pipe()
        self._started = time.monotonic()
        self.deadline = float("inf")
        self._pid = os.fork()
        if self._pid == 0:
            _become_du(unit, output)
        os.close(output)
        self._poll.register(self._pipe, select.POLLIN)

    def _finish(self) -> None:
        """Read the result; `du` prints it when it is done."""
        answer = os.read(self._pipe, 4096).split()
        self._poll.unregister(self._pipe)
        os.close(self._pipe)
        self._pipe = -1
        os.waitpid(self._pid, 0)
        if answer and answer[0].isdigit():
            self._use[self._measured] = int(answer[0])
        took = time.monotonic() - self._started
        self.deadline = time.monotonic() + max(LOOK_SECONDS, took / _SHARE)


def _become_du(unit: list[str], output: int) -> None:
    """Turn into `du`. Never returns."""
    try:
        kernel.die_with_parent()
        os.nice(10)
        if os.geteuid() != 0:
            # As root of a namespace, `du` can enter folders that the sandbox has closed to its own uid.
            kernel.become_root_of_new_namespace()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, fd in enumerate((nothing, output, nothing)):
            os.dup2(fd, number)
        os.execv(DU, ["du", "-s", *unit, FILES])  # noqa: S606
    finally:
        os._exit(126)


def _attach_loop(path: str) -> tuple[str, int]:
    """Attach the file to a loop device. Return its name and a descriptor; it is detached with its last user.

    The file stays locked while the device uses it: one image must never be mounted twice.
    """
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(file, fcntl.LOCK_EX)
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    config = bytearray(_CONFIG_BYTES)
    config[0:4] = file.to_bytes(4, sys.byteorder)
    config[_FLAGS_AT] = _AUTOCLEAR
    while True:
        name = f"/dev/loop{fcntl.ioctl(control, _LOOP_GET_FREE)}"
        device = os.open(name, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(device, _LOOP_CONFIGURE, config)
        except OSError as error:
            os.close(device)
            # Another process was faster to take this one.
            if error.errno != errno.EBUSY:
                raise
        else:
            return name, device
