"""A local sandbox whose documents are damaged does not affect others: it is listed, reported, ended, removed."""

import json
import os
import shutil
from pathlib import Path

import pytest

from omoi_os.errors import ProviderError
from omoi_os.providers.base import EndReason, SandboxRef
from omoi_os.providers.local.host.provider import LocalProvider
from omoi_os.providers.local.supervisor import processes
from tests.providers.conftest import MakeSpec, processes_below
from tests.providers.local.test_provider import SOON, supervisor_of

#: What a power cut or a full disk leaves: nothing, half a document, blocks of zeros, another type, other values.
DAMAGE = [b"", b'{"super', b"\0" * 4096, b"[]", b"\xff\xfe{", b'{"supervisor": 1, "owner": [], "reason": "x"}']


async def _refs(provider: LocalProvider) -> list[str]:
    return [listed.ref async for listed in provider.list(owner="tests")]


@pytest.mark.parametrize("name", ["spec.json", "state.json", "exit.json"])
async def test_an_ended_sandbox_with_a_damaged_document_is_reported_and_removed(
    provider: LocalProvider, make_spec: MakeSpec, root: Path, name: str
) -> None:
    whole = await provider.create(make_spec())
    ref = await provider.create(make_spec(["true"]))
    await provider.inspect(ref, wait=SOON)
    for damage in DAMAGE:
        (root / ref / name).write_bytes(damage)
        assert sorted(await _refs(provider)) == sorted([ref, whole])
        report = await provider.inspect(ref)
        assert not report.alive
        if name == "exit.json":
            assert report.reason == EndReason.UNKNOWN
            assert "exit.json is damaged" in report.detail
    await provider.destroy(ref)

    assert await _refs(provider) == [whole]
    assert not (root / ref).exists()
    assert [line for line in processes_below(root) if ref in line] == []


@pytest.mark.parametrize("name", ["spec.json", "state.json", "exit.json"])
async def test_a_running_sandbox_with_a_damaged_document_can_be_ended(
    provider: LocalProvider, make_spec: MakeSpec, root: Path, name: str
) -> None:
    ref = await provider.create(make_spec())
    pid = supervisor_of(root, ref)
    (root / ref / name).write_bytes(b"")

    await provider.inspect(ref)
    await provider.destroy(ref)

    assert await _refs(provider) == []
    assert not Path(f"/proc/{pid}").exists()
    assert processes_below(root) == []


async def test_running_a_command_in_a_sandbox_that_lost_its_description_says_so(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec())
    os.kill(supervisor_of(root, ref), 9)
    await provider.inspect(ref, wait=SOON)
    (root / ref / "spec.json").write_bytes(b"")

    with pytest.raises(ProviderError, match=r"spec\.json is damaged"):
        await provider.exec(ref, ["true"], timeout=SOON)


async def test_other_files_in_the_folder_are_not_touched(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec())
    (root / "lost+found").mkdir()
    (root / "a-file").write_text("x")
    (root / "a-link").symlink_to("/etc")

    try:
        assert await _refs(provider) == [ref]
    finally:
        (root / "lost+found").rmdir()
        (root / "a-file").unlink()
        (root / "a-link").unlink()


async def test_a_damaged_document_of_one_sandbox_hides_no_uid_of_another(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    first = await provider.create(make_spec())
    (root / first / "spec.json").write_bytes(b"")
    second = await provider.create(make_spec())

    assert json.loads((root / second / "spec.json").read_text())["id"] == second
    assert (await provider.inspect(SandboxRef(second))).alive


async def test_a_supervisor_of_an_incompatible_release_is_replaced_and_the_files_stay(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec())
    await provider.write_file(ref, "/workspace/kept", b"kept")
    old = supervisor_of(root, ref)
    path = root / ref / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"protocol": 99}))

    report = await provider.inspect(ref)
    result = await provider.exec(ref, ["cat", "/workspace/kept"], timeout=SOON)

    assert (report.alive, "incompatible" in report.detail) == (False, True)
    assert (result.exit_code, result.stdout) == (0, b"kept")
    assert supervisor_of(root, ref) != old
    assert not Path(f"/proc/{old}").exists()


async def test_a_supervisor_of_a_compatible_release_is_adopted(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec())
    path = root / ref / "state.json"
    state = json.loads(path.read_text())
    del state["protocol"]
    path.write_text(json.dumps(state))

    assert (await LocalProvider(root).inspect(ref)).alive


async def test_a_supervisor_whose_sandbox_is_gone_is_ended_at_the_next_start(
    provider: LocalProvider, make_spec: MakeSpec, root: Path
) -> None:
    ref = await provider.create(make_spec())
    pidfd = os.pidfd_open(supervisor_of(root, ref))
    shutil.rmtree(root / ref)

    LocalProvider(root).check()

    assert processes.has_ended(pidfd, wait_ms=60_000)
    os.close(pidfd)
