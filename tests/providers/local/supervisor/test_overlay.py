"""A workspace that is an overlay on a prepared checkout."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.providers import checkout_folder
from omoi_os.providers.base import Layered, Resources, SandboxRef, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.providers.local.host.records import read_state
from omoi_os.providers.local.supervisor import processes

SOON = timedelta(seconds=60)
MEBIBYTE = 1 << 20

MakeSpec = Callable[..., SandboxSpec]

CHANGE = """
set -e
echo changed > file
echo changed >> .git/HEAD
rm -r gone
mkdir gone
mv folder renamed
chmod 700 deep
touch -d 2020-01-01 deep/one
echo new > deep/two
ln -sf /etc/passwd link
"""


@pytest.fixture(autouse=True)
def can_lay(provider: LocalProvider) -> None:
    """Only root's overlays can rename a folder of the checkout, so only root has them."""
    if not provider.has_checkouts:
        pytest.xfail("workspaces are not laid over checkouts for this user")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A prepared checkout below a folder that only we may enter."""
    closed = tmp_path / "closed, with: signs"
    closed.mkdir(mode=0o700)
    made = closed / "one"
    checkout_folder.make_folder(made)
    tree = checkout_folder.tree_of(made)
    for name in (".git", "folder/inner", "gone", "deep"):
        (tree / name).mkdir(parents=True)
    (tree / ".git" / "HEAD").write_text("1234\n")
    (tree / "file").write_text("as prepared\n")
    (tree / "folder" / "inner" / "file").write_text("inner\n")
    (tree / "gone" / "file").write_text("gone\n")
    (tree / "deep" / "one").write_text("one\n")
    (tree / "deep" / "big").write_bytes(os.urandom(8 * MEBIBYTE))
    (tree / "link").symlink_to("file")
    return made


def facts_of(folder: Path) -> dict[str, tuple[int, int, int, float, bytes]]:
    """Return everything about a folder's files that a sandbox could change."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        name = str(path.relative_to(folder))
        found[name] = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime, content)
    return found


def mounts_named(text: str) -> int:
    """Return how many mounts of all processes on this machine contain this name."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            count += sum(text in line for line in entry.read_text().splitlines())
        except OSError:
            continue
    return count


async def sh(provider: LocalProvider, ref: SandboxRef, script: str) -> tuple[int, str]:
    result = await provider.exec(ref, ["sh", "-c", script], cwd="/workspace", timeout=SOON)
    return result.exit_code, (result.stdout + result.stderr).decode()


async def test_the_workspace_starts_with_the_files_of_the_checkout(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    assert isinstance(provider, Layered)
    assert provider.has_checkouts
    ref = await provider.create(make_spec(checkout=checkout))

    owners = await sh(provider, ref, 'find . -not -user "$(id -u)" -o -not -group "$(id -g)"')
    read = await provider.read_file(ref, "/workspace/folder/inner/file")

    assert owners == (0, "")
    assert read == b"inner\n"
    assert await sh(provider, ref, "cat link; stat -c %a . file") == (0, "as prepared\n755\n644\n")


async def test_changes_in_a_workspace_reach_neither_the_checkout_nor_another_sandbox(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    before = facts_of(checkout_folder.tree_of(checkout))
    one, other = [await provider.create(make_spec(checkout=checkout)) for _ in range(2)]

    assert await sh(provider, one, CHANGE) == (0, "")
    await provider.write_file(one, "/workspace/file", b"from outside\n")

    listed = "find . | sort; cat file .git/HEAD renamed/inner/file"
    assert "./renamed/inner/file" in (await sh(provider, one, listed))[1]
    assert "from outside\n1234\nchanged\ninner\n" in (await sh(provider, one, listed))[1]
    assert await sh(provider, other, "ls renamed") == (2, "ls: cannot access 'renamed': No such file or directory\n")
    assert await sh(provider, other, "cat file .git/HEAD gone/file") == (0, "as prepared\n1234\ngone\n")
    assert facts_of(checkout_folder.tree_of(checkout)) == before


async def test_git_moves_a_folder_of_the_checkout(provider: LocalProvider, make_spec: MakeSpec, checkout: Path) -> None:
    ref = await provider.create(make_spec(checkout=checkout))
    script = "rm -r .git && git init -q && git add -A && git mv folder elsewhere && git ls-files elsewhere"

    assert await sh(provider, ref, script) == (0, "elsewhere/inner/file\n")


async def test_the_mount_shows_no_path_of_the_host(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    ref = await provider.create(make_spec(checkout=checkout))

    code, told = await sh(provider, ref, "grep ' /workspace ' /proc/self/mountinfo; ls -a / /workspace/..")

    assert code == 0
    assert "overlay" in told
    assert str(checkout.parent.parent) not in told
    assert "upper/" not in told


@pytest.mark.parametrize("killed", [False, True], ids=["supervisor alive", "supervisor killed"])
async def test_after_the_end_the_work_is_still_on_the_same_checkout(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path, root: Path, *, killed: bool
) -> None:
    spec = make_spec(["sh", "-c", CHANGE], checkout=checkout)
    ref = await provider.create(spec)
    assert not (await provider.inspect(ref, wait=SOON)).alive
    if killed:
        state = read_state(root / ref) or {}
        keeper = processes.open_process(state["supervisor"])
        assert keeper is not None
        signal.pidfd_send_signal(keeper, signal.SIGKILL)
        assert processes.has_ended(keeper, wait_ms=5000)
        os.close(keeper)

    assert await sh(provider, ref, "cat file renamed/inner/file deep/two deep/one; ls gone") == (
        0,
        "changed\ninner\nnew\none\n",
    )
    assert await provider.read_file(ref, "/workspace/file") == b"changed\n"


async def test_a_workspace_is_never_shown_without_the_checkout_below_it(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    ref = await provider.create(make_spec(["true"], checkout=checkout))
    assert not (await provider.inspect(ref, wait=SOON)).alive
    (checkout / "tree").rename(checkout / "lost")

    code, said = await sh(provider, ref, "ls -A")

    assert code != 0
    assert "tree" in said
    (checkout / "lost").rename(checkout / "tree")
    assert (await sh(provider, ref, "cat file"))[1] == "as prepared\n"


async def test_the_disk_limit_applies_to_written_files_and_a_reserve_remains_for_saving(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    resources = Resources(memory_bytes=256 * MEBIBYTE, cpus=1, pids=64, disk_bytes=64 * MEBIBYTE)
    script = "dd if=/dev/zero of=fill bs=64k status=none; stat -c %s fill > /home/agent/size; echo >> deep/big; exit 3"
    ref = await provider.create(make_spec(["sh", "-c", script], checkout=checkout, resources=resources))
    report = await provider.inspect(ref, wait=SOON)

    assert report.reason == "disk_full"
    assert 60 * MEBIBYTE < int((await sh(provider, ref, "stat -c %s fill"))[1]) <= 65 * MEBIBYTE
    assert await sh(provider, ref, "head -c 4M /dev/zero > saved && stat -c %s saved") == (0, f"{4 * MEBIBYTE}\n")


async def test_a_checkout_is_used_until_its_sandbox_is_destroyed_and_no_mount_is_left(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    ref = await provider.create(make_spec(checkout=checkout))
    with checkout_folder.unused(checkout) as unused:
        assert not unused
    assert mounts_named(f"{ref}/") > 0

    await provider.destroy(ref)

    with checkout_folder.unused(checkout) as unused:
        assert unused
    assert mounts_named(f"{ref}/") == 0
    assert list((checkout / "users").iterdir()) == []


async def test_a_checkout_that_is_being_replaced_is_done_without(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    with checkout_folder.unused(checkout) as unused:
        assert unused
        ref = await provider.create(make_spec(checkout=checkout))
    gone = await provider.create(make_spec(checkout=checkout.with_name("gone")))

    assert await sh(provider, ref, "ls -A") == (0, "")
    assert await sh(provider, gone, "ls -A") == (0, "")


@pytest.fixture
def unfit(checkout: Path) -> Iterator[Path]:
    """A checkout on a file system that cannot be the lower layer of an overlay."""
    subprocess.run(["mount", "-t", "proc", "proc", checkout_folder.tree_of(checkout)], check=True)
    yield checkout
    subprocess.run(["umount", checkout_folder.tree_of(checkout)], check=True)


async def test_a_file_system_that_cannot_be_a_lower_layer_leaves_the_workspace_empty(
    provider: LocalProvider, make_spec: MakeSpec, unfit: Path
) -> None:
    ref = await provider.create(make_spec(checkout=unfit))

    assert await sh(provider, ref, "ls -A; touch mine; ls -A") == (0, "mine\n")


async def test_without_a_disk_image_a_workspace_starts_empty(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    provider._machine.has_images = False
    ref = await provider.create(make_spec(checkout=checkout))

    assert await sh(provider, ref, "ls -A") == (0, "")
    assert list((checkout / "users").iterdir()) == []


async def test_a_sandbox_whose_new_supervisor_cannot_start_can_still_be_destroyed(
    provider: LocalProvider, make_spec: MakeSpec, checkout: Path
) -> None:
    ref = await provider.create(make_spec(["true"], checkout=checkout))
    assert not (await provider.inspect(ref, wait=SOON)).alive
    (checkout / "tree").rename(checkout / "lost")

    with pytest.raises((ProviderError, FileNotFoundError)):
        await provider.read_file(ref, "/workspace/file")
    await provider.destroy(ref)
