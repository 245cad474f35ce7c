"""Attacks 11 and 12: what the orchestrator and the gateway hold, looked for everywhere inside."""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omoi_os.conformance import collector, expect
from omoi_os.providers.conformance import Bench, Check, Guarantee, host
from omoi_os.providers.conformance.isolation import SEARCH
from tests.providers.weak import is_bare

SECRETS: list[Check] = []
KEYS: list[Check] = []
_secret, _key = collector(SECRETS), collector(KEYS)

#: All files but the system's and the interpreter's own, which were there before anything was planted.
_SEARCH_FILES = """
import json, os, stat, sys
secret, found = sys.stdin.buffer.read(), []
passed_over = {'/proc', '/sys', '/usr', sys.prefix, sys.base_prefix}
for folder, folders, files in os.walk(sys.argv[1]):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in passed_over]
    for path in (os.path.join(folder, name) for name in files):
        try:
            about = os.lstat(path)
            if stat.S_ISREG(about.st_mode) and about.st_size < 1 << 20 and secret in open(path, 'rb').read():
                found.append(path)
        except OSError: pass
print(json.dumps(found))
"""
#: In a new session keyring that is linked to the user's keyring, which gives the right to read that one.
_READ_KEY = """
import ctypes, json, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
control = {'x86_64': 250, 'aarch64': 219}[os.uname().machine]
JOIN, LINK, SEARCH, READ, text = 1, 8, 10, 11, ctypes.create_string_buffer(64)
session, user = ctypes.c_long(-3), ctypes.c_long(-4)
call(ctypes.c_long(control), JOIN, None, 0, 0, 0)
call(ctypes.c_long(control), LINK, user, session, 0, 0)
key = call(ctypes.c_long(control), SEARCH, user, b'user', sys.argv[1].encode(), 0)
read = call(ctypes.c_long(control), READ, ctypes.c_long(key), text, ctypes.c_size_t(64), 0) if key > 0 else -1
print(json.dumps(text.value.decode() if read > 0 else None))
"""
_LIST_KEYS = "import json\ntry: print(json.dumps(open('/proc/keys').read()))\nexcept OSError: print('null')"


@contextmanager
def _secret_environment() -> Iterator[str]:
    """Another program of the host, as the gateway is, with a secret in its environment."""
    secret = secrets.token_hex(16)
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env={"ANTHROPIC_API_KEY": secret}):
        yield secret


@contextmanager
def _secret_in_home() -> Iterator[tuple[Path, str]]:
    secret = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix=".omoi-", dir=Path.home()) as folder:
        path = Path(folder, ".netrc")
        path.write_text(secret)
        yield path, secret


@contextmanager
def _secret_git_config() -> Iterator[str]:
    """Put a secret into the git configuration of the user who runs the platform."""
    secret = secrets.token_hex(16)
    with host.folder() as folder:
        (folder / "config").write_text(f"[http]\n\textraHeader = Authorization: {secret}\n")
        os.environ["GIT_CONFIG_GLOBAL"] = str(folder / "config")
        try:
            yield secret
        finally:
            del os.environ["GIT_CONFIG_GLOBAL"]


@_secret(Guarantee.ISOLATION)
async def a_secret_of_the_gateways_environment_is_not_found(bench: Bench) -> None:
    """No `/proc/*/environ` shows what another program of the host was given."""
    with _secret_environment() as secret:
        found = await bench.ask(await bench.shared(), SEARCH, stdin=secret.encode())
    expect(not found, f"the gateway's secret was seen in {', '.join(found[:3])}")


@_secret(Guarantee.ISOLATION)
async def a_secret_in_a_file_of_the_host_is_not_found(bench: Bench) -> None:
    """No file anywhere inside holds what files of the host hold."""
    with host.secret_file() as (path, secret):
        await _expect_no_file(bench, path, secret)


@_secret(Guarantee.ISOLATION)
async def a_secret_in_the_platforms_home_is_not_found(bench: Bench) -> None:
    """The home of the user who runs the platform cannot be read either."""
    with _secret_in_home() as (path, secret):
        await _expect_no_file(bench, path, secret)


@_secret(Guarantee.ISOLATION)
async def a_secret_of_gits_configuration_is_not_found(bench: Bench) -> None:
    """Git inside knows nothing of how git is set up outside."""
    with _secret_git_config() as secret:
        printed = await bench.exec(await bench.make(), ["git", "config", "--list", "--show-origin"])
    expect(secret.encode() not in printed.stdout, "git inside printed the secret of git outside")


@_key(Guarantee.ISOLATION)
async def a_key_of_the_user_that_runs_the_platform_is_not_read(bench: Bench) -> None:
    """A key in the keyring that all processes of one uid share cannot be read."""
    with host.secret_key(host.USER_KEYRING) as name:
        read = await bench.ask(await bench.make(), _READ_KEY, name)
    expect(read is None, "a key of the user that runs the platform was read")


@_key(Guarantee.ISOLATION)
async def keys_of_the_host_are_not_listed(bench: Bench) -> None:
    """The kernel's own list of keys does not name those of the host."""
    with host.secret_key(host.USER_KEYRING) as name:
        listed = await bench.ask(await bench.make(), _LIST_KEYS)
    expect(name not in (listed or ""), "a key of the host is listed")


async def _expect_no_file(bench: Bench, path: Path, secret: str) -> None:
    # Without walls the whole host would be searched.
    where = str(path.parent) if is_bare(bench) else "/"
    found = await bench.ask(await bench.shared(), _SEARCH_FILES, where, stdin=secret.encode())
    expect(not found, f"a file of the host was found as {found[:3]}")
