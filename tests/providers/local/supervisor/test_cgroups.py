"""Control groups in their three layouts. The unified one has no controllers here, so a folder stands in for it."""

import os
from pathlib import Path

import pytest

from omoi_os.providers.local.supervisor import cgroups


@pytest.fixture
def unified(tmp_path: Path) -> Path:
    """A tree like that of a machine with the unified hierarchy, where we are in /user/app and may divide /user."""
    for folder in (tmp_path, tmp_path / "user", tmp_path / "user" / "app"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text("cpu memory pids io\n")
        (folder / "cgroup.subtree_control").write_text("memory\n")
        (folder / "cgroup.procs").write_text("")
    (tmp_path / "own").write_text("0::/user/app\n")
    return tmp_path


def test_the_unified_hierarchy_is_divided_at_the_top_of_what_we_may_divide(unified: Path) -> None:
    (unified / "cgroup.controllers").write_text("cpu io\n")

    layout = cgroups.detect(str(unified), str(unified / "own"))

    assert layout == {"unified": f"{unified}/user/omoi"}
    assert (unified / "user" / "cgroup.subtree_control").read_text() == "+cpu +pids"
    assert cgroups.missing(layout) == []


def test_limits_are_written_as_the_unified_hierarchy_wants_them(unified: Path) -> None:
    groups = cgroups.groups_of(cgroups.detect(str(unified), str(unified / "own")), "one")

    cgroups.make(groups, memory_bytes=1 << 30, cpus=1.5, pids=100)

    folder = Path(groups["unified"])
    values = {path.name: path.read_text() for path in folder.iterdir()}
    assert values == {
        "memory.max": str(1 << 30),
        "memory.swap.max": "0",
        "cpu.max": "150000 100000",
        "pids.max": "100",
    }
    (folder / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    for name, text in (("memory.current", "4096\n"), ("memory.peak", "8192\n"), ("pids.current", "5\n")):
        (folder / name).write_text(text)
    (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    assert cgroups.out_of_memory_kills(groups) == 2
    assert cgroups.usage(groups) == (4096, 1.5, 5)
    assert cgroups.usage(groups, peak=True) == (8192, 1.5, None)


@pytest.mark.parametrize("together", [True, False])
def test_each_separate_hierarchy_is_used_once_and_cpu_time_is_counted(tmp_path: Path, together: bool) -> None:
    for name in ("memory", "pids", "cpu", "cpuacct"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").write_text("")
    counting = tmp_path / ("cpu" if together else "cpuacct")
    (counting / "cpuacct.usage").write_text("0\n")

    layout = cgroups.detect(str(tmp_path), "/proc/self/cgroup")

    assert set(layout) == {"memory", "cpu", "pids"} | (set() if together else {"cpuacct"})
    assert cgroups.missing(layout) == []
    groups = cgroups.groups_of(layout, "one")
    cgroups.make(groups, memory_bytes=1 << 30, cpus=2, pids=7)
    (counting / "omoi" / "one" / "cpuacct.usage").write_text("2500000000\n")
    for name, text in (("memory/omoi/one/memory.usage_in_bytes", "5"), ("pids/omoi/one/pids.current", "3")):
        (tmp_path / name).write_text(text)
    assert cgroups.usage(groups) == (5, 2.5, 3)


def test_a_machine_without_groups_names_what_is_missing(tmp_path: Path) -> None:
    layout = cgroups.detect(str(tmp_path), "/proc/self/cgroup")

    assert layout == {}
    assert cgroups.missing(layout) == ["memory", "cpu", "pids"]


def test_this_machine_limits_everything_or_names_what_it_does_not() -> None:
    layout = cgroups.detect()
    groups = cgroups.groups_of(layout, f"test-{os.getpid()}")

    cgroups.make(groups, memory_bytes=64 << 20, cpus=0.5, pids=10)
    try:
        limit = [Path(folder, "pids.max").read_text() for name, folder in groups.items() if name in ("pids", "unified")]
        assert limit == ([] if "pids" in cgroups.missing(layout) else ["10\n"])
        assert cgroups.out_of_memory_kills(groups) == 0
        with pytest.raises(FileExistsError):
            raise_if_made_twice(groups)
    finally:
        assert cgroups.remove(groups)
    assert not any(Path(folder).exists() for folder in groups.values())
    assert cgroups.remove(groups)


def raise_if_made_twice(groups: dict[str, str]) -> None:
    """Making groups again fails; where there are none, say so in the same way."""
    cgroups.make(groups, memory_bytes=64 << 20, cpus=0.5, pids=10)
    if not groups:
        raise FileExistsError
