"""`omoi credentials`: the secret comes by a prompt or a pipe, and the key is rotated under a running API."""

import asyncio
import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api_process import ApiProcess
from tests.conftest import fresh_database, short_folder

SECRET = "a-password-that-nobody-reads"
GIT = ("--provider", "git", "--base-url", "https://git.example.org", "--username", "ada")


@pytest.fixture(scope="module")
def api(postgres: str) -> Iterator[ApiProcess]:
    """An API whose model host does not answer."""
    with short_folder() as folder, fresh_database(postgres) as url:
        made = ApiProcess(folder, url)
        try:
            asyncio.run(made.start(ANTHROPIC_BASE_URL="http://127.0.0.1:1"))
            yield made
        finally:
            made.kill()


def omoi(api: ApiProcess, *arguments: str, secret: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "omoi_os", "credentials", *arguments]
    return subprocess.run(
        command, env=api.environment, input=secret, capture_output=True, text=True, timeout=60, check=False
    )


def add(api: ApiProcess, name: str, *arguments: str) -> dict[str, Any]:
    answer = omoi(api, "add", *GIT, "--name", name, "--json", *arguments, secret=f"{SECRET}\n")
    assert answer.returncode == 0, answer.stderr
    made: dict[str, Any] = json.loads(answer.stdout)
    return made


def test_a_credential_is_added_listed_and_deleted(api: ApiProcess) -> None:
    empty = omoi(api, "list")
    made = add(api, "Forge")
    listed, as_json = omoi(api, "list"), omoi(api, "list", "--json")
    deleted, again = omoi(api, "delete", made["id"]), omoi(api, "delete", made["id"])

    assert empty.stdout.startswith("No credentials yet.")
    assert (made["last_four"], made["is_default"], made["check"]) == ("eads", True, None)
    head, row = [line.split() for line in listed.stdout.splitlines()]
    assert head[:3] == ["ID", "PROVIDER", "NAME"]
    assert row[:5] == [made["id"], "git", "Forge", "eads", "https://git.example.org"]
    assert json.loads(as_json.stdout) == made
    assert deleted.stdout == f"{made['id']}: deleted\n"
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)
    for answer in (listed, as_json, deleted, again):
        assert SECRET not in answer.stdout + answer.stderr


def test_a_host_that_does_not_accept_it_is_an_exit_code(api: ApiProcess) -> None:
    answer = omoi(api, "add", "--provider", "anthropic", "--name", "Work", secret="sk-ant-api03-x")

    assert (answer.returncode, answer.stdout.split(": ", 1)[1]) == (1, "Work, check: unreachable\n")
    assert omoi(api, "delete", answer.stdout.split(":")[0]).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "secret", "sentence"),
    [
        (("add", "--provider", "anthropic", "--name", "x"), "sk-ant-oat01-subscription", "OAuth token of a Claude"),
        (("add", "--provider", "anthropic", "--name", "x"), " \n", "no secret was given"),
        (("add", "--name", "x"), SECRET, "provider"),
        (("add", *GIT, "--name", "x", "--known-hosts", "/nowhere"), SECRET, "/nowhere cannot be read"),
        (("delete", "x"), "", "name a credential by its id"),
        (("check",), "", "name a credential by its id"),
    ],
)
def test_a_mistake_is_one_sentence(api: ApiProcess, arguments: tuple[str, ...], secret: str, sentence: str) -> None:
    answer = omoi(api, *arguments, secret=secret)

    assert (answer.returncode != 0, answer.stderr.count("\n"), sentence in answer.stderr) == (True, 1, True)
    assert SECRET not in answer.stderr


def test_the_key_is_rotated_under_a_running_api(api: ApiProcess) -> None:
    made = add(api, "Kept")
    path = Path(api.environment["OMOI_DATA_DIR"]) / "secret-key"
    before = path.read_text()

    rotated = omoi(api, "rotate")

    assert (rotated.returncode, rotated.stdout) == (0, "Encrypted 1 credential with the first key.\n")
    assert (path.read_text().endswith(before), path.read_text() == before) == (True, False)
    path.write_text(path.read_text().splitlines()[0])
    # The API decrypts it for the check.
    assert omoi(api, "check", made["id"]).stdout == f"{made['id']}: Kept, check: not checked\n"
    path.write_text("another-key-that-encrypted-nothing\n")
    lost = omoi(api, "rotate")
    assert (lost.returncode, lost.stderr.startswith("Skipped 'Kept': its key ")) == (1, True)
    assert omoi(api, "list").returncode == 0


def test_a_secret_typed_at_a_terminal_is_not_shown(api: ApiProcess) -> None:
    arguments = [sys.executable, "-P", "-m", "omoi_os", "credentials", "add", *GIT, "--name", "Typed"]
    shown = _type(arguments, api.environment, f"{SECRET}\n")

    assert "Secret (not shown): " in shown
    assert "Typed, check: not checked" in shown
    assert SECRET not in shown


def _type(command: list[str], environment: dict[str, str], typed: str) -> str:
    """What a terminal shows while a person runs a command and answers its prompt."""
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        command, env=environment, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    shown = b""
    while b"not shown" not in shown:
        shown += os.read(screen, 1024)
    os.write(screen, typed.encode())
    # Reading fails once the program has ended.
    with contextlib.suppress(OSError):
        while chunk := os.read(screen, 1024):
            shown += chunk
    process.wait(60)
    os.close(screen)
    return shown.decode()
