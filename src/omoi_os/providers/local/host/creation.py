"""Creating a sandbox, starting its supervisor again, and removing every trace of it. Everything here blocks."""

import os
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from omoi_os.errors import ProviderError, SandboxDamaged, SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers import checkout_folder
from omoi_os.providers.base import Resources, SandboxSpec
from omoi_os.providers.guest import kernel
from omoi_os.providers.local.host import control, disk_template, folder, launcher, profile, records
from omoi_os.providers.local.host.launcher import Launcher
from omoi_os.providers.local.host.machine import Machine, is_root
from omoi_os.providers.local.supervisor import cgroups, disk, processes

#: How long a supervisor may take to end its sandbox before it is killed, which ends the sandbox too.
STOP_MS = 8000

#: The environment of commands in a sandbox whose first supervisor is gone: the original is never written to disk.
BARE_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": paths.HOME, "LANG": "C.UTF-8"}


def check(spec: SandboxSpec) -> None:
    """Raise `ProviderError` for a spec that cannot work, before anything is created."""
    if not spec.argv:
        raise ProviderError(f"Sandbox {spec.id} has no command to run.")
    if any("\0" in text for text in (*spec.argv, *spec.env, *spec.env.values())) or any("=" in key for key in spec.env):
        raise ProviderError(f"The command or environment of sandbox {spec.id} contains a zero byte or a bad name.")
    for what, path in (("gateway folder", spec.gateway_folder), ("mirror", spec.mirror)):
        if path is not None and not path.is_dir():
            raise ProviderError(f"The {what} of sandbox {spec.id} is not a folder: {path}.")
    if spec.gateway_folder is not None and is_root() and not spec.gateway_folder.stat().st_mode & 0o001:
        raise ProviderError(
            f"{spec.gateway_folder} must be open to others (mode 0755); restrict the folder above it instead."
        )


def make(place: Path, spec: SandboxSpec, *, machine: Machine, starter: Launcher) -> None:
    """Create a sandbox in a folder that does not exist yet. A failure leaves nothing behind."""
    _ = machine.bwrap
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        raise ProviderError(f"Sandbox {spec.id} already exists.") from None
    try:
        with folder.locked(place) as lock:
            if not (spec.checkout and machine.has_images and checkout_folder.use(spec.checkout, place)):
                spec = replace(spec, checkout=None)
            uid = _fill_folder(place, spec, image=machine.has_images)
            document = launcher.describe(spec, place, machine=machine, uid=uid, image=machine.has_images)
            starter.start(place, document, lock=lock)
    except BaseException:
        remove(place, machine=machine)
        raise


def revive(place: Path, *, machine: Machine, starter: Launcher) -> None:
    """Start a supervisor again for an ended sandbox, to run commands. Raises `SandboxGone`."""
    with folder.locked(place) as lock:
        supervisor = open_supervisor(place)
        if supervisor is not None and not records.is_foreign(place):
            os.close(supervisor)
            return
        if supervisor is not None:
            control.stop(place)
            _end_process(place, supervisor, patience=STOP_MS)
        # Without a supervisor it is dead or dying.
        _end_process(place, _open_init(place), patience=0)
        found = records.read_spec(place)
        if found is None:
            raise ProviderError(f"Sandbox {place.name} was never completed; nothing can be run in it.")
        spec = _spec_of(found)
        document = launcher.describe(spec, place, machine=machine, uid=found["uid"], image=found["image"])
        starter.start(place, document, lock=lock)


def end(place: Path) -> None:
    """End the sandbox's processes, its supervisor included, and keep its files. Raises `SandboxGone`."""
    with folder.locked(place):
        control.stop(place)
        _end_process(place, open_supervisor(place), patience=STOP_MS)
        _end_process(place, _open_init(place), patience=0)


def remove(place: Path, *, machine: Machine) -> None:
    """End the sandbox and remove every trace of it. A sandbox that no longer exists is not an error."""
    try:
        with folder.locked(place):
            control.stop(place)
            _end_process(place, open_supervisor(place), patience=STOP_MS)
            _end_process(place, _open_init(place), patience=0)
            if not cgroups.remove(machine.groups_for(place)):
                raise ProviderError(f"The control groups of sandbox {place.name} could not be removed.")
            checkout = _checkout_of(place)
            folder.remove(place)
            if checkout is not None:
                checkout_folder.leave(checkout, place)
    except SandboxGone:
        return


def end_orphans(root: Path) -> None:
    """End the supervisors of sandboxes of this folder that no longer exist: nothing else would find them."""
    for pidfd, path in processes.supervisors_below(f"{root}/"):
        try:
            if not Path(path).exists():
                kernel.send_signal(pidfd, kernel.SIGKILL)
        finally:
            os.close(pidfd)


def open_supervisor(place: Path) -> int | None:
    """Return a descriptor of the sandbox's supervisor, also if its state is damaged; None if it has ended."""
    try:
        state = records.read_state(place)
    except SandboxDamaged:
        return processes.find_supervisor(str(place))
    return processes.open_process(state["supervisor"]) if state else None


def _open_init(place: Path) -> int | None:
    """Return a descriptor of the sandbox's init; None if it has ended, or ends with its supervisor."""
    try:
        state = records.read_state(place) or {}
    except SandboxDamaged:
        return None
    return processes.open_process(state["init"]) if "init" in state else None


def _checkout_of(place: Path) -> Path | None:
    """Return the prepared checkout that the sandbox uses, if its description can be read."""
    try:
        spec = records.read_spec(place) or {}
    except SandboxDamaged:
        return None
    return Path(spec["checkout"]) if spec.get("checkout") else None


def _fill_folder(place: Path, spec: SandboxSpec, *, image: bool) -> int | None:
    """Create the contents of the folder. Return the sandbox's uid, if it gets its own."""
    for name, mode in ((disk.FILES, 0o700), ("etc", 0o755)):
        (place / name).mkdir(mode=mode)
    uid = folder.claim_uid(place) if is_root() else None
    records.write_spec(place, _facts_of(spec) | {"uid": uid, "image": image})
    if image:
        disk_template.make(place / disk.IMAGE, spec.resources.disk_bytes)
    else:
        _make_folders(place / disk.FILES, uid)
    for name, text in profile.generated_etc(profile.USER_UID if uid is None else uid).items():
        (place / "etc" / name).write_text(text)
        (place / "etc" / name).chmod(0o644)
    return uid


def _make_folders(files: Path, uid: int | None) -> None:
    for name, mode, _ in disk.FOLDERS:
        (files / name).mkdir()
        (files / name).chmod(mode)
        if uid is not None:
            os.chown(files / name, uid, uid)


def _facts_of(spec: SandboxSpec) -> dict[str, Any]:
    """Return what is written to disk about a sandbox: nothing of its environment."""
    return {
        "id": spec.id,
        "owner": spec.owner,
        "labels": dict(spec.labels),
        "resources": asdict(spec.resources),
        "gateway_folder": str(spec.gateway_folder) if spec.gateway_folder else None,
        "mirror": str(spec.mirror) if spec.mirror else None,
        "checkout": str(spec.checkout) if spec.checkout else None,
    }


def _spec_of(found: dict[str, Any]) -> SandboxSpec:
    """Return the spec of an existing sandbox, without its command and environment."""
    names = ("gateway_folder", "mirror", "checkout")
    binds = {what: Path(found[what]) for what in names if found.get(what)}
    # They may have been removed since.
    gateway_folder, mirror, checkout = (path if path and path.is_dir() else None for path in map(binds.get, names))
    return SandboxSpec(
        id=found["id"],
        owner=found["owner"],
        argv=(),
        env=BARE_ENVIRONMENT,
        resources=Resources(**found["resources"]),
        lifetime=timedelta(0),
        gateway_folder=gateway_folder,
        mirror=mirror,
        checkout=checkout,
    )


def _end_process(place: Path, pidfd: int | None, *, patience: int) -> None:
    """Wait until the process is gone: kill it if it has not ended after so many milliseconds."""
    if pidfd is None:
        return
    try:
        if not processes.has_ended(pidfd, wait_ms=patience):
            kernel.send_signal(pidfd, kernel.SIGKILL)
            if not processes.has_ended(pidfd, wait_ms=STOP_MS):
                raise ProviderError(f"Sandbox {place.name} does not end: one of its processes cannot be killed.")
    finally:
        os.close(pidfd)
