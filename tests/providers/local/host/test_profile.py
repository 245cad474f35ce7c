"""bwrap's options, from made-up and from real hosts."""

import sys
from dataclasses import replace
from pathlib import Path

import omoi_os
from omoi_os.providers.local.host import profile

HOST = profile.Host(
    is_root=True,
    top_level={"/bin": "usr/bin", "/lib": None},
    etc=("ssl/certs",),
    runtime=(Path("/root/.pyenv/versions/3.11.7"),),
    hides_local=True,
)
USER = profile.Host(is_root=False, top_level={}, etc=(), runtime=(), hides_local=False)


def options(host: profile.Host, gateway_folder: Path | None = None, mirror: Path | None = None) -> list[str]:
    return profile.arguments(
        host, Path("/data/sandboxes/one"), gateway_folder=gateway_folder, mirror=mirror, memory_bytes=1 << 30
    )


def contains(arguments: list[str], *wanted: str) -> bool:
    return any(arguments[at : at + len(wanted)] == list(wanted) for at in range(len(arguments)))


def test_the_root_is_made_read_only_after_everything_else() -> None:
    assert options(HOST)[-2:] == ["--remount-ro", "/"]
    assert options(USER)[-2:] == ["--remount-ro", "/"]


def test_a_user_namespace_is_used_only_where_real_root_does_not_mount() -> None:
    assert "--unshare-user" not in options(HOST)
    assert contains(options(USER), "--unshare-user", "--disable-userns", "--uid", "1000")
    for host in (HOST, USER):
        assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"} <= set(options(host))
        assert "--die-with-parent" in options(host)


def test_system_folders_are_links_or_binds_as_on_the_host() -> None:
    assert contains(options(HOST), "--symlink", "usr/bin", "/bin")
    assert contains(options(HOST), "--ro-bind", "/lib", "/lib")


def test_the_interpreter_is_bound_at_its_own_path_below_folders_that_anyone_may_enter() -> None:
    arguments = options(HOST)

    for parent in ("/root", "/root/.pyenv", "/root/.pyenv/versions", "/etc", "/etc/ssl", "/home", "/run"):
        assert contains(arguments, "--perms", "0755", "--dir", parent)
    assert contains(arguments, "--ro-bind", "/root/.pyenv/versions/3.11.7", "/root/.pyenv/versions/3.11.7")


def test_the_gateway_socket_folder_is_bound_read_only() -> None:
    assert contains(
        options(HOST, Path("/data/gateway_sockets/one")), "--ro-bind", "/data/gateway_sockets/one", "/run/omoi"
    )
    assert "/run/omoi" not in options(HOST)


def test_the_mirror_is_bound_read_only() -> None:
    mirror = Path("/data/mirrors/one.git")

    assert contains(options(HOST, mirror=mirror), "--ro-bind", "/data/mirrors/one.git", "/run/mirror.git")
    assert "/run/mirror.git" not in options(HOST)


def test_the_kernels_lists_of_keys_are_hidden_where_there_are_any() -> None:
    given = options(replace(USER, hidden=("/proc/keys", "/proc/cmdline")))

    assert given.index("/proc/keys") > given.index("--proc")
    assert contains(given, "--ro-bind", "/dev/null", "/proc/keys")
    assert contains(given, "--ro-bind", "/dev/null", "/proc/cmdline")
    assert "/proc/keys" not in options(USER)


def test_local_programs_of_the_host_are_hidden() -> None:
    assert contains(options(HOST), "--tmpfs", "/usr/local", "--remount-ro", "/usr/local")
    assert "/usr/local" not in options(USER)


def test_of_this_host_only_the_runtime_is_bound_beyond_the_system() -> None:
    host = profile.look_at_host()

    prefixes = {Path(sys.prefix), Path(sys.base_prefix), Path(omoi_os.__file__).parent}
    for prefix in prefixes:
        assert any(prefix == folder or folder in prefix.parents for folder in (*host.runtime, Path("/usr")))
    assert not {Path("/"), Path.home(), Path("/usr/local")} & set(host.runtime)


def test_the_sandboxs_own_user_is_in_its_passwd_file() -> None:
    files = profile.generated_etc(70_001)

    assert "agent:x:70001:70001:agent:/home/agent:" in files["passwd"]
    assert "agent:x:70001:\n" in files["group"]
