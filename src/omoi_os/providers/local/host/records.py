"""The documents in a sandbox's folder. Each is checked: a power cut or a full disk may have damaged it."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from omoi_os.errors import SandboxDamaged, SandboxGone
from omoi_os.providers.base import EndReason
from omoi_os.providers.local.supervisor import record
from omoi_os.system import durable

SPEC, STATE, END = "spec.json", "state.json", "exit.json"

#: The key of `gateway_folder` in the documents of an earlier release, whose sandboxes may outlive an upgrade.
_OLD_GATEWAY_FOLDER = "door"

_IDENTITY = re.compile(r"[1-9][0-9]{0,8} [0-9]{1,20} [0-9a-f-]{36}")


def read_spec(folder: Path) -> dict[str, Any] | None:
    """Return how the sandbox was created; None if that was interrupted. Raises `SandboxGone`, `SandboxDamaged`."""
    spec = _read(folder, SPEC, _is_spec)
    if spec is not None and _OLD_GATEWAY_FOLDER in spec:
        spec["gateway_folder"] = spec.pop(_OLD_GATEWAY_FOLDER)
    return spec


def read_state(folder: Path) -> dict[str, Any] | None:
    """Return the processes of the sandbox; None before its start. Raises `SandboxGone`, `SandboxDamaged`."""
    return _read(folder, STATE, _is_state)


def read_end(folder: Path) -> dict[str, Any] | None:
    """Return how the sandbox ended; None before that. Raises `SandboxGone`, `SandboxDamaged`."""
    return _read(folder, END, _is_end)


def is_foreign(folder: Path) -> bool:
    """Return whether the supervisor is of a release that this one cannot talk to. Raises `SandboxGone`."""
    try:
        state = read_state(folder)
    except SandboxDamaged:
        return False
    return state is not None and state.get("protocol", record.PROTOCOL) != record.PROTOCOL


def write_spec(folder: Path, facts: Mapping[str, Any]) -> None:
    """Store how the sandbox is created, readable only for us."""
    durable.write(folder / SPEC, json.dumps(dict(facts)).encode())


def _read(folder: Path, name: str, is_whole: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    try:
        content = (folder / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if not folder.is_dir():
            raise SandboxGone(f"Sandbox {folder.name} no longer exists.") from None
        return None
    except OSError as error:
        raise SandboxDamaged(f"{name} of sandbox {folder.name} cannot be read: {error.strerror}.") from error
    try:
        document = json.loads(content)
        whole = isinstance(document, dict) and is_whole(document)
    except (ValueError, RecursionError, TypeError, KeyError):
        whole = False
    if not whole:
        how = "is empty" if not content.strip(b"\0 \n") else "is incomplete"
        raise SandboxDamaged(f"{name} is damaged: it {how}, probably after a power cut or on a full disk.")
    found: dict[str, Any] = document
    return found


def _is_spec(facts: dict[str, Any]) -> bool:
    limits = facts["resources"]
    numbers = [limits[name] for name in ("memory_bytes", "cpus", "pids", "disk_bytes")]
    paths = [facts.get(name) for name in ("gateway_folder", _OLD_GATEWAY_FOLDER, "mirror", "checkout")]
    return (
        all(isinstance(facts[name], str) for name in ("id", "owner"))
        and all(isinstance(number, int | float) for number in numbers)
        and len(limits) == len(numbers)
        and all(path is None or isinstance(path, str) for path in paths)
        and (facts["uid"] is None or isinstance(facts["uid"], int))
        and isinstance(facts["image"], bool)
    )


def _is_state(state: dict[str, Any]) -> bool:
    names = [state["supervisor"], *([state["init"]] if "init" in state else [])]
    return all(isinstance(name, str) and _IDENTITY.fullmatch(name) is not None for name in names)


def _is_end(end: dict[str, Any]) -> bool:
    figures = [value for name, value in end.items() if name != "reason"]
    return end["reason"] in list(EndReason) and all(
        value is None or isinstance(value, int | float) for value in figures
    )
