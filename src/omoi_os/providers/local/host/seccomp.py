"""The seccomp filter for every process in a sandbox, assembled by hand for two architectures."""

import errno
import os
import struct

from omoi_os.errors import SetupError
from omoi_os.providers.guest import kernel

#: Denied calls, with their numbers on x86_64 and aarch64; None where the call does not exist.
DENIED: dict[str, tuple[int | None, int | None]] = {
    # Other namespaces, mounts and roots
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # Other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # Keys
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Large or new parts of the kernel that nothing here needs
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "lookup_dcookie": (212, 18),
    "uselib": (134, None),
    "modify_ldt": (154, None),
    # The machine itself
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
}

#: The audit number of each architecture, then its clone, clone3, ioctl and socket.
_ARCHITECTURES = {
    "x86_64": (0xC000003E, (56, 435, 16, 41)),
    "aarch64": (0xC00000B7, (220, 435, 29, 198)),
}

_NEW_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWCGROUP
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
)
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX: typing into a terminal
_X32_BIT = 0x40000000

#: Unix, IPv4, IPv6 and netlink. A network namespace does not confine others, such as vsock.
_SOCKET_FAMILIES = (1, 2, 10, 16)

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERRNO | error)


def _deny(number: int) -> bytes:
    return _step(_EQUAL, number, no=1) + _refuse(errno.EPERM)


def _inspect(number: int, argument: int, checks: bytes) -> bytes:
    """Check an argument of this call, and allow the call if no check refuses it."""
    body = _step(_LOAD, argument) + checks + _step(_RETURN, _ALLOW)
    return _step(_EQUAL, number, no=len(body) // 8) + body


def build_filter(machine: str | None = None) -> bytes:
    """Return the program for this machine's processor, or another one, in the format of the kernel and bwrap."""
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        raise SetupError(f"Sandboxes need an x86_64 or aarch64 processor; this one is {machine}.")
    audit, (clone, clone3, ioctl, socket) = _ARCHITECTURES[machine]
    column = list(_ARCHITECTURES).index(machine)
    numbers = [row[column] for row in DENIED.values()]

    program = _step(_LOAD, _ARCHITECTURE) + _step(_EQUAL, audit, yes=1) + _step(_RETURN, _KILL)
    program += _step(_LOAD, _NUMBER)
    if machine == "x86_64":
        program += _step(_AT_LEAST, _X32_BIT, no=1) + _refuse(errno.ENOSYS)
    # A filter cannot see its flags, which are in memory. If it does not exist, the C library falls back to clone.
    program += _step(_EQUAL, clone3, no=1) + _refuse(errno.ENOSYS)
    program += b"".join(_deny(number) for number in numbers if number is not None)
    program += _inspect(clone, _FIRST_ARGUMENT, _step(_ANY_BIT, _NEW_NAMESPACES, no=1) + _refuse(errno.EPERM))
    program += _inspect(ioctl, _SECOND_ARGUMENT, b"".join(_deny(request) for request in _TERMINAL_INPUT))
    families = b"".join(_step(_EQUAL, family, no=1) + _step(_RETURN, _ALLOW) for family in _SOCKET_FAMILIES)
    program += _inspect(socket, _FIRST_ARGUMENT, families + _refuse(errno.EAFNOSUPPORT))
    return program + _step(_RETURN, _ALLOW)
