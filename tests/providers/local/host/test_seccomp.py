"""The filter, run by a small interpreter for both architectures."""

import errno
import struct

import pytest

from omoi_os.errors import SetupError
from omoi_os.providers.guest import kernel
from omoi_os.providers.local.host import seccomp

ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = sorted(AUDIT)


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """Return the filter's decision on one call."""
    program = seccomp.build_filter(machine)
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<iIQ6Q", number, audit or AUDIT[machine], 0, *padded)
    at = value = 0
    while True:
        code, yes, no, operand = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return int(operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += yes if holds else no


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_refused(machine: str) -> None:
    column = ("x86_64", "aarch64").index(machine)
    listed = [row[column] for row in seccomp.DENIED.values()]

    answers = {verdict(machine, number) for number in listed if number is not None}

    assert answers == {REFUSE | errno.EPERM}


@pytest.mark.parametrize(
    ("machine", "calls"), [("x86_64", (0, 1, 2, 57, 59, 231, 257)), ("aarch64", (56, 63, 64, 93, 221))]
)
def test_ordinary_calls_are_allowed(machine: str, calls: tuple[int, ...]) -> None:
    assert {verdict(machine, number) for number in calls} == {ALLOW}


@pytest.mark.parametrize(("machine", "clone"), [("x86_64", 56), ("aarch64", 220)])
def test_cloning_is_allowed_without_and_refused_with_any_new_namespace(machine: str, clone: int) -> None:
    thread = 0x3D0F00

    assert verdict(machine, clone, thread) == ALLOW
    for flag in (kernel.CLONE_NEWUSER, kernel.CLONE_NEWNS, kernel.CLONE_NEWNET, kernel.CLONE_NEWPID):
        assert verdict(machine, clone, thread | flag) == REFUSE | errno.EPERM
    assert verdict(machine, 435) == REFUSE | errno.ENOSYS


@pytest.mark.parametrize(("machine", "ioctl"), [("x86_64", 16), ("aarch64", 29)])
def test_typing_into_a_terminal_is_refused_and_other_requests_are_not(machine: str, ioctl: int) -> None:
    assert verdict(machine, ioctl, 0, 0x5412) == REFUSE | errno.EPERM
    assert verdict(machine, ioctl, 0, 0x5412 | 1 << 40) == REFUSE | errno.EPERM
    assert verdict(machine, ioctl, 0, 0x5401) == ALLOW


@pytest.mark.parametrize(("machine", "call"), [("x86_64", 41), ("aarch64", 198)])
def test_sockets_of_families_outside_the_namespace_are_refused(machine: str, call: int) -> None:
    assert [verdict(machine, call, family) for family in (1, 2, 10, 16)] == [ALLOW] * 4
    assert [verdict(machine, call, family) for family in (38, 40)] == [REFUSE | errno.EAFNOSUPPORT] * 2


def test_calls_of_another_architecture_kill_and_those_of_x32_do_not_exist() -> None:
    assert verdict("x86_64", 0, audit=0x40000003) == KILL
    assert verdict("aarch64", 0, audit=AUDIT["x86_64"]) == KILL
    assert verdict("x86_64", 0x40000000 | 101) == REFUSE | errno.ENOSYS


def test_an_unknown_processor_is_refused_with_its_name() -> None:
    with pytest.raises(SetupError, match="riscv64"):
        seccomp.build_filter("riscv64")
