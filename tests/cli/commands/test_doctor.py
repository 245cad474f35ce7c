"""`omoi doctor`: one line for each component, with the remedy for a problem, and tests of a provider."""

import io
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omoi_os.cli.commands import doctor
from omoi_os.config import load_settings
from omoi_os.providers.conformance import CHECKS, Outcome

PARTS = [
    "system",
    "python",
    "git",
    "bubblewrap",
    "namespaces",
    "provider",
    "limits",
    "open files",
    "data folder",
    "port",
]
PARTS += ["database", "agent", "model"]


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def omoi_doctor(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "omoi_os", "doctor", *arguments],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environ},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def line_of(part: str, answer: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """Return the level and the sentence of one component."""
    [line] = [line for line in answer.stdout.splitlines() if line[9:].startswith(f"{part} ")]
    return line[:8].strip(), line[22:]


def test_every_component_has_one_line_and_a_healthy_machine_exits_with_0(short_tmp: Path, free_port: int) -> None:
    answer = omoi_doctor("--data-dir", str(short_tmp / "data"), "--port", str(free_port))

    lines = answer.stdout.splitlines()
    assert [line[9:21].strip() for line in lines[:-1]] == PARTS
    assert (answer.returncode, answer.stderr) == (0, "")
    assert lines[-1].startswith("All checks passed, ")
    assert not (short_tmp / "data").exists()


def test_a_problem_is_reported_with_its_remedy_and_exits_with_1(short_tmp: Path, taken_port: int) -> None:
    (short_tmp / "file").touch()
    answer = omoi_doctor(
        "--port",
        str(taken_port),
        OMOI_DATA_DIR=str(short_tmp / "file" / "data"),
        DATABASE_URL="postgresql://somebody:hush-hush@127.0.0.1:1/none",
        ANTHROPIC_API_KEY="sk-hush-hush-hush",
    )

    assert answer.returncode == 1
    assert line_of("data folder", answer)[0] == "FAILED"
    assert "OMOI_DATA_DIR" in line_of("data folder", answer)[1]
    assert line_of("port", answer)[0] == "FAILED"
    assert f"OMOI_PORT={taken_port + 1}" in line_of("port", answer)[1]
    assert line_of("database", answer)[0] == "FAILED"
    assert "DATABASE_URL" in line_of("database", answer)[1]
    assert line_of("model", answer)[0] == "OK"
    assert answer.stdout.splitlines()[-1] == "Failed: data folder, port, database."
    assert "hush-hush" not in answer.stdout + answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr


def test_without_git_the_remedy_is_to_install_it(short_tmp: Path, free_port: int) -> None:
    unshare = shutil.which("unshare")
    assert unshare is not None
    (short_tmp / "bin").mkdir()
    (short_tmp / "bin" / "unshare").symlink_to(unshare)

    answer = omoi_doctor("--data-dir", str(short_tmp), "--port", str(free_port), PATH=str(short_tmp / "bin"))

    assert line_of("git", answer) == (
        "FAILED",
        "git is not installed; on Debian or Ubuntu: apt install git",
    )


def test_a_database_that_answers_is_reported_with_its_version(postgres: str, short_tmp: Path, free_port: int) -> None:
    answer = omoi_doctor("--data-dir", str(short_tmp), "--port", str(free_port), DATABASE_URL=postgres)

    level, sentence = line_of("database", answer)
    assert level == "OK"
    assert sentence.startswith("the server of DATABASE_URL answers, PostgreSQL 18.")


def test_a_scripted_model_is_a_warning_unless_it_was_chosen(short_tmp: Path, free_port: int) -> None:
    place = ["--data-dir", str(short_tmp), "--port", str(free_port)]

    by_default, chosen = omoi_doctor(*place), omoi_doctor(*place, OMOI_MODEL="scripted")

    assert line_of("model", by_default)[0] == "warning"
    assert "ANTHROPIC_API_KEY" in line_of("model", by_default)[1]
    assert line_of("model", chosen)[0] == "OK"


def test_an_unknown_provider_is_one_line_and_exits_with_2(short_tmp: Path) -> None:
    answer = omoi_doctor("--provider", "moonbase", "--data-dir", str(short_tmp))

    assert (answer.returncode, answer.stderr.count("\n"), answer.stdout) == (2, 1, "")
    assert "moonbase" in answer.stderr


def test_an_unusable_provider_is_reported_and_not_tested(short_tmp: Path, free_port: int) -> None:
    nowhere = f"unix://{short_tmp}/no.sock"
    arguments = ["--provider", "docker", "--data-dir", str(short_tmp), "--port", str(free_port)]

    answer = omoi_doctor(*arguments, DOCKER_HOST=nowhere)

    assert answer.returncode == 1
    assert line_of("provider", answer)[0] == "FAILED"
    assert "Trying out" not in answer.stdout
    assert "Traceback" not in answer.stdout + answer.stderr


async def test_a_provider_is_tested_and_each_check_prints_a_line(short_tmp: Path) -> None:
    out = io.StringIO()
    few = [check for check in CHECKS if check.name in ("an_exit_code_is_a_result", "files_of_the_host_are_not_seen")]

    report = await doctor.test_provider(load_settings(environ={}, data_dir=short_tmp), few, out=out)

    lines = out.getvalue().splitlines()
    assert [line[18:] for line in lines] == ["an exit code is a result", "files of the host are not seen"]
    assert all(line.startswith("OK ") for line in lines)
    assert len(report.of(Outcome.PASSED)) == 2
    assert doctor.summary(report) == "2 checks: 2 passed, 0 known gaps, 0 failed.\n"
    assert list((short_tmp / "sandboxes").iterdir()) == []
