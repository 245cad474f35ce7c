"""What a sandbox sees: the options for bwrap, derived from facts about the host."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import omoi_os
from omoi_os.protocol import paths
from omoi_os.providers.local.supervisor import disk

#: The uid inside where a user namespace gives one.
USER_UID = 1000

#: Read-only parts of the host's /etc that programs need and that hold no secrets.
ETC = (
    "alternatives",
    "ca-certificates",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
    "ssl/openssl.cnf",
)

#: What the kernel reports about the host: keys, which a user namespace does not hide from processes of the same user,
#: and its own command line, which names the host's disks and can hold secrets of its boot loader.
HIDDEN = ("/proc/keys", "/proc/key-users", "/proc/cmdline")

_TOP_LEVEL = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


@dataclass(frozen=True, slots=True)
class Host:
    """The facts about this machine that the profile depends on."""

    #: Whether bwrap mounts as real root, so that a Python under a closed home can be bound.
    is_root: bool
    #: Top-level system folders: where each leads if it is a link, None if it is a folder.
    top_level: dict[str, str | None]
    #: Which of `ETC` there are.
    etc: tuple[str, ...]
    #: The interpreter, its packages and ours, at their own paths.
    runtime: tuple[Path, ...]
    #: Whether /usr/local is there to be hidden.
    hides_local: bool
    #: Which of `HIDDEN` there are.
    hidden: tuple[str, ...] = ()


def look_at_host() -> Host:
    """Return the facts about this machine and the running interpreter."""
    top_level = {
        name: str(Path(name).readlink()) if Path(name).is_symlink() else None
        for name in _TOP_LEVEL
        if Path(name).exists()
    }
    runtime = tuple(_runtime_folders())
    local = Path("/usr/local")
    needed = any(folder == local or local in folder.parents for folder in _interpreter_prefixes())
    return Host(
        is_root=os.geteuid() == 0,
        top_level=top_level,
        etc=tuple(name for name in ETC if Path("/etc", name).exists()),
        runtime=runtime,
        hides_local=local.is_dir() and not needed,
        hidden=tuple(name for name in HIDDEN if Path(name).exists()),
    )


def arguments(
    host: Host, folder: Path, *, gateway_folder: Path | None, mirror: Path | None, memory_bytes: int
) -> list[str]:
    """Return bwrap's options for the sandbox in this folder."""
    return [
        *_namespaces(host),
        *_system(host),
        *_etc(host, folder / "etc"),
        *("--proc", "/proc", "--dev", "/dev"),
        *(option for name in host.hidden for option in ("--ro-bind", os.devnull, name)),
        *("--perms", "1777", "--size", str(max(memory_bytes // 4, 1 << 20)), "--tmpfs", "/dev/shm"),  # noqa: S108
        *("--remount-ro", "/dev"),
        *("--perms", "1777", "--size", str(max(memory_bytes // 2, 1 << 20)), "--tmpfs", "/tmp"),  # noqa: S108
        *_folders(["/var", "/run"]),
        *("--symlink", "/tmp", "/var/tmp"),  # noqa: S108
        *(part for name, _, inside in disk.FOLDERS for part in _bind("--bind", folder / disk.FILES / name, inside)),
        *(_bind("--ro-bind", gateway_folder, paths.GATEWAY_FOLDER) if gateway_folder else []),
        *(_bind("--ro-bind", mirror, paths.MIRROR) if mirror else []),
        *(option for part in host.runtime for option in _bind("--ro-bind", part, str(part))),
        *("--remount-ro", "/"),
    ]


def generated_etc(uid: int) -> dict[str, str]:
    """Return the files of /etc that are written for the sandbox: those of the host would reveal its users."""
    agent = f"agent:x:{uid}:"
    return {
        "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\n{agent}{uid}:agent:{paths.HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": f"root:x:0:\n{agent}\nnogroup:x:65534:\n",
        "hosts": "127.0.0.1 localhost\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def _namespaces(host: Host) -> list[str]:
    options = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"]
    options += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv"]
    if host.is_root:
        return options
    uid = str(USER_UID)
    return [*options, "--unshare-user", "--disable-userns", "--uid", uid, "--gid", uid]


def _system(host: Host) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    if host.hides_local:
        yield from ("--perms", "0755", "--tmpfs", "/usr/local", "--remount-ro", "/usr/local")
    for name, target in host.top_level.items():
        yield from ("--ro-bind", name, name) if target is None else ("--symlink", target, name)


def _etc(host: Host, generated: Path) -> Iterator[str]:
    for name in host.etc:
        yield from _bind("--ro-bind", Path("/etc", name), f"/etc/{name}")
    for name in generated_etc(USER_UID):
        yield from _bind("--ro-bind", generated / name, f"/etc/{name}")


def _bind(option: str, source: Path, target: str) -> list[str]:
    parents = (str(parent) for parent in reversed(PurePosixPath(target).parents[:-1]))
    return [*_folders(parents), option, str(source), target]


def _folders(names: Iterable[str]) -> Iterator[str]:
    """Create folders that every uid may enter: those that bwrap creates implicitly are closed to others than root."""
    for name in names:
        yield from ("--perms", "0755", "--dir", name)


def _interpreter_prefixes() -> list[Path]:
    """Return every folder on the way to the interpreter: a virtual environment may link to it through several."""
    prefixes = [Path(sys.prefix), Path(sys.base_prefix)]
    program = Path(sys.executable)
    while program.is_symlink():
        program = Path(os.path.normpath(program.parent / program.readlink()))
        if program.parent.name == "bin":
            prefixes.append(program.parent.parent)
    return [*prefixes, *(prefix.resolve() for prefix in prefixes)]


def _runtime_folders() -> Iterator[Path]:
    """Yield the folders that are mounted besides the system, each once, outer folders first."""
    covered = [Path("/usr")]
    wanted = {*_interpreter_prefixes(), Path(omoi_os.__file__).parent}
    for folder in sorted(wanted, key=lambda path: (len(path.parts), path)):
        if len(folder.parts) > 1 and not any(base == folder or base in folder.parents for base in covered):
            covered.append(folder)
            yield folder
