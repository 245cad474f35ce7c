"""The few kernel calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

SIGKILL, SIGPIPE, SIGCHLD, SIGXFSZ = 9, 13, 17, 25

MS_NOSUID, MS_NODEV, MS_NOATIME, MS_REC, MS_SLAVE = 1 << 1, 1 << 2, 1 << 10, 1 << 14, 1 << 19

_CLONE_PARENT = 0x00008000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_KEYCTL_JOIN_SESSION_KEYRING = 1

_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = -100, 0x100, 0x1000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_IDMAP = 1, 2, 4, 0x00100000

#: clone, keyctl, pidfd_send_signal, open_tree, move_mount, mount_setattr
_NUMBERS = {"x86_64": (56, 250, 424, 428, 429, 442), "aarch64": (220, 219, 424, 428, 429, 442)}

# PyDLL keeps the interpreter's lock during a call, so that the child of a raw clone wakes up holding it.
_libc = ctypes.PyDLL(None, use_errno=True)


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(index: int, what: str, *arguments: int) -> int:
    number = _NUMBERS[os.uname().machine][index]
    return _check(_libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments)), what)


def _prctl(what: str, option: int, *arguments: int) -> int:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return _check(_libc.prctl(ctypes.c_int(option), *(ctypes.c_ulong(value) for value in padded)), what)


def counts_processes_by_namespace(release: str | None = None) -> bool:
    """Return whether RLIMIT_NPROC counts the processes of a user namespace by themselves: since Linux 5.14."""
    major, minor = (release or os.uname().release).split("-")[0].split(".")[:2]
    return (int(major), int(minor)) >= (5, 14)


def clone_as_sibling() -> int:
    """Fork, but the child's parent is the caller's parent, which may live in another pid namespace."""
    return _syscall(0, "clone", _CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)


def join_new_session_keyring() -> None:
    """Leave the session keyring of the process that started this one."""
    _syscall(1, "keyctl", _KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0)


def send_signal(pidfd: int, number: int) -> None:
    """Signal exactly the process of this descriptor. A process that has ended is not an error."""
    try:
        _syscall(2, "pidfd_send_signal", pidfd, number, 0, 0)
    except ProcessLookupError:
        return


def join_namespaces(pidfd: int, flags: int) -> None:
    """Enter these namespaces of the process at once: after entering its user namespace alone, the others are denied."""
    _check(_libc.setns(ctypes.c_int(pidfd), ctypes.c_int(flags)), "setns")


def unshare(flags: int) -> None:
    """Move to new namespaces of these kinds."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def become_root_of_new_namespace() -> None:
    """Become root of a new user namespace in which our own uid is the only one."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    # The files below belong to root while the process hides its memory.
    show_memory()
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(text)


def mount(source: str, target: str, kind: str, *, flags: int, options: str = "") -> None:
    """Mount a file system, or change how a mount propagates changes."""
    given = [os.fsencode(text) for text in (source, target, kind)]
    _check(_libc.mount(*given, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def show_as_owned(source: str, target: str, *, uid: int) -> None:
    """Mount a folder of root on another one, read-only, with everything in it owned by that uid."""
    texts = [ctypes.create_string_buffer(os.fsencode(text)) for text in (source, target, "")]
    origin, place, empty = map(ctypes.addressof, texts)
    namespace = tree = -1
    try:
        namespace = _mapping_root_to(uid)
        tree = _syscall(3, source, _AT_FDCWD, origin, _OPEN_TREE_CLONE | _AT_SYMLINK_NOFOLLOW | os.O_CLOEXEC)
        flags = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV | _ATTR_IDMAP
        attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, namespace)
        size = ctypes.sizeof(attributes)
        _syscall(5, "mount_setattr", tree, empty, _AT_EMPTY_PATH, ctypes.addressof(attributes), size)
        _syscall(4, "move_mount", tree, empty, _AT_FDCWD, place, _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        for fd in (namespace, tree):
            if fd >= 0:
                os.close(fd)


def _mapping_root_to(uid: int) -> int:
    """Return a descriptor of a user namespace in which root is that uid; no process stays in it."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent()
            unshare(CLONE_NEWUSER)
            os.write(tell, b"x")
            while True:
                _libc.pause()
        finally:
            os._exit(126)
    os.close(tell)
    try:
        if not os.read(ready, 1):
            raise OSError("no user namespace can be created")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}", "w") as file:  # noqa: PTH123
                file.write(f"0 {uid} 1")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(pid, SIGKILL)
        os.waitpid(pid, 0)


def die_with_parent() -> None:
    """Have the kernel kill this process when the parent thread ends."""
    _prctl("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, SIGKILL)


def hide_memory() -> None:
    """Deny core dumps and access to this process through /proc or ptrace, until it executes a program."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, 0)


def show_memory() -> None:
    """Undo `hide_memory`."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, 1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none can escape."""
    _prctl("PR_SET_CHILD_SUBREAPER", _PR_SET_CHILD_SUBREAPER, 1)


def reset_signals() -> None:
    """Stop ignoring the signals that the interpreter ignores: an executed program would inherit that."""
    for number in (SIGPIPE, SIGXFSZ):
        _libc.signal(ctypes.c_int(number), ctypes.c_void_p(0))


def let_children_go() -> None:
    """Have the kernel reap children and orphaned descendants that end.

    A sandbox whose supervisor was killed is then gone at once: not every machine's init is quick to reap.
    """
    adopt_orphans()
    _libc.signal(ctypes.c_int(SIGCHLD), ctypes.c_void_p(1))


def take_children_back() -> None:
    """Undo `let_children_go`: wait for children again."""
    _libc.signal(ctypes.c_int(SIGCHLD), ctypes.c_void_p(0))


def show_as(title: str) -> None:
    """Change the command line that others see, cut to the length of the one that this process was started with."""
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    size = end - start
    if size > 0:
        ctypes.memmove(start, os.fsencode(title)[: size - 1].ljust(size, b"\0"), size)


def empty_bounding_set() -> None:
    """Remove every capability from the bounding set."""
    for capability in range(64):
        try:
            _prctl("PR_CAPBSET_DROP", _PR_CAPBSET_DROP, capability)
        except OSError:
            if capability == 0:
                raise
            return


def drop_capabilities() -> None:
    """Drop every capability, and every way to gain one by executing a program."""
    _prctl("PR_CAP_AMBIENT", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def install_filter(program: bytes) -> None:
    """Install a seccomp filter for this process and all its descendants."""
    described = _FilterProgram(len(program) // 8, program)
    _prctl("PR_SET_SECCOMP", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(described))
