"""A sandbox as a container: its isolation, limits, folders and labels."""

import re
from collections.abc import Mapping
from typing import Any

from docker import APIClient
from docker.types import LogConfig, Mount, Ulimit

from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import SandboxSpec
from omoi_os.providers.image import IMAGE_RUNTIME, IMAGE_UID

#: A container without this label is not ours, whatever its name.
OWNER = "omoi.owner"
_LABEL = "omoi."
#: The label of containers whose image has the package `providers.guest`.
_GUEST = "omoi.guest"

#: Prefix of the environment's names: the engine adds the image's variables to those of a container.
_VARIABLE = "OMOI_ENV_"

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}")
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from omoi_os.providers.{} import {} as main; main()"

_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108
_LOG = LogConfig(type=LogConfig.types.JSON, config={"max-size": "1m", "max-file": "2"})


def serve_command(found: Mapping[str, Any]) -> list[str]:
    """Return the command that starts a guest in a container that the engine knows, for one request."""
    # A container of an earlier release, which may outlive an upgrade, has the guest of that release.
    current = _GUEST in (found["Config"]["Labels"] or {})
    return _program("guest.stdio_entry", "serve") if current else _program("docker.inside.runner", "main")


def _program(module: str, function: str) -> list[str]:
    return [IMAGE_RUNTIME.python, "-I", "-S", "-c", _PROGRAM.format(module, function), IMAGE_RUNTIME.source]


def check_name(ref: str) -> str:
    """Return the reference. Raises `SandboxGone` if it cannot be the name of a container."""
    if not _NAME.fullmatch(ref):
        raise SandboxGone(f"There is no sandbox {ref!r}.")
    return ref


def check(spec: SandboxSpec) -> None:
    """Raise `ProviderError` for a spec that cannot work, before anything is created."""
    if not _NAME.fullmatch(spec.id):
        raise ProviderError(f"{spec.id!r} cannot be the name of a container.")
    if not spec.argv:
        raise ProviderError(f"Sandbox {spec.id} has no command to run.")
    if any("\0" in text for text in (*spec.argv, *spec.env, *spec.env.values())) or any("=" in key for key in spec.env):
        raise ProviderError(f"The command or environment of sandbox {spec.id} contains a zero byte or a bad name.")
    for what, folder in (("gateway folder", spec.gateway_folder), ("mirror", spec.mirror)):
        if folder is not None and not folder.is_dir():
            raise ProviderError(f"The {what} of sandbox {spec.id} is not a folder: {folder}.")


def create(api: APIClient, spec: SandboxSpec, *, image: str) -> None:
    """Create the container of a sandbox without starting it. Its name is the sandbox's id, so no id exists twice."""
    api.create_container(
        image,
        _program("guest.stdio_entry", "supervise"),
        name=spec.id,
        hostname="sandbox",
        user=f"{IMAGE_UID}:{IMAGE_UID}",
        working_dir="/",
        entrypoint=[],
        stdin_open=True,
        stop_signal="SIGKILL",
        environment=[f"{_VARIABLE}{name}={value}" for name, value in spec.env.items()],
        labels={**{f"{_LABEL}{name}": value for name, value in spec.labels.items()}, OWNER: spec.owner, _GUEST: "1"},
        host_config=_host_config(api, spec),
    )


def environment_of(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment that a sandbox was created with."""
    items = [item.split("=", 1) for item in found["Config"]["Env"] or []]
    return {item[0].removeprefix(_VARIABLE): item[1] for item in items if item[0].startswith(_VARIABLE)}


def _host_config(api: APIClient, spec: SandboxSpec) -> Any:
    resources = spec.resources
    # No file, sparse ones included, can be larger than the limit of the whole sandbox.
    largest = max(resources.disk_bytes, resources.memory_bytes)
    options = f"rw,exec,nosuid,nodev,mode=1777,size={resources.memory_bytes // 2}"
    return api.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        mem_limit=resources.memory_bytes,
        memswap_limit=resources.memory_bytes,
        nano_cpus=int(resources.cpus * 1_000_000_000),
        pids_limit=resources.pids,
        ulimits=[Ulimit(name=name, soft=most, hard=most) for name, most in (("core", 0), ("fsize", largest))],
        tmpfs=dict.fromkeys(_TEMPORARY, options),
        shm_size=resources.memory_bytes // 2,
        mounts=_mounts(spec),
        log_config=_LOG,
        restart_policy={"Name": "no"},
    )


def _mounts(spec: SandboxSpec) -> list[Mount]:
    """Return the mounts. Volumes without a name are removed with their container."""
    labels = {OWNER: spec.owner, f"{_LABEL}id": spec.id}
    mounts = [Mount(target, None, labels=labels) for target in (paths.HOME, paths.WORKSPACE)]
    for target, source in ((paths.GATEWAY_FOLDER, spec.gateway_folder), (paths.MIRROR, spec.mirror)):
        if source is not None:
            mounts.append(Mount(target, str(source.absolute()), type="bind", read_only=True))
    return mounts
