"""The command line: mistakes are answered with one sentence and an exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from omoi_os.cli import main as command_line


def omoi(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "omoi_os", *arguments],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


HELP = """
import sys
from omoi_os.cli.main import main
try:
    main(["--help"])
finally:
    print("pydantic" in sys.modules)
"""


def test_help_names_every_command_without_loading_any() -> None:
    answer = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, timeout=60, check=False)

    assert all(name in answer.stdout for name in command_line.COMMANDS)
    assert answer.stdout.endswith("False\n")


def test_the_version_is_printed() -> None:
    assert omoi("--version").stdout.startswith("omoi ")


@pytest.mark.parametrize(("typed", "meant"), [("sandboxs", "sandboxes"), ("log", "logs"), ("SERVE", "serve")])
def test_a_typo_in_a_command_gets_a_suggestion(typed: str, meant: str) -> None:
    answer = omoi(typed, "--json")

    assert answer.returncode == 2
    assert answer.stderr.endswith(f"unknown command {typed!r}; did you mean {meant}?\n")


def test_a_command_that_resembles_none_points_to_the_help() -> None:
    answer = omoi("xylophone")

    assert answer.returncode == 2
    assert answer.stderr.endswith("unknown command 'xylophone'; `omoi --help` lists the commands\n")


@pytest.mark.parametrize("arguments", [[], ["fly"], ["serve", "--wings"]])
def test_an_invalid_command_line_exits_with_2(arguments: list[str]) -> None:
    answer = omoi(*arguments)

    assert answer.returncode == 2
    assert "usage: omoi" in answer.stderr


def test_a_bad_setting_is_one_line_and_exits_with_2() -> None:
    answer = omoi("serve", "--port", "http")

    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert answer.stderr.startswith("omoi: parameter port: ")


@pytest.mark.parametrize("command", ["serve", "gateway", "demo"])
def test_a_scripts_folder_that_does_not_exist_refuses_to_start_with_one_line(command: str, short_tmp: Path) -> None:
    missing = short_tmp / "missing"

    answer = omoi(command, OMOI_SCRIPTS_DIR=str(missing), OMOI_DATA_DIR=str(short_tmp))

    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"omoi: OMOI_SCRIPTS_DIR: {missing} is not a folder; create it or unset OMOI_SCRIPTS_DIR\n"


def test_a_script_that_cannot_be_played_refuses_to_start_with_one_line(short_tmp: Path) -> None:
    scripts = short_tmp / "scripts"
    scripts.mkdir()
    (scripts / "bad.yaml").write_text("match: x\nsteps: [{say: hello}]\n")

    answer = omoi("serve", OMOI_SCRIPTS_DIR=str(scripts), OMOI_DATA_DIR=str(short_tmp / "data"))

    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert answer.stderr.startswith(f"omoi: script {scripts / 'bad.yaml'}, key steps[0]")


@pytest.mark.parametrize("command", ["api", "gateway", "orchestrator"])
def test_a_process_without_a_database_prints_what_to_do(command: str, tmp_path: Path) -> None:
    answer = omoi(command, OMOI_DATA_DIR=f"/tmp/{tmp_path.name[:20]}-none")

    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert answer.stderr.startswith("omoi: there is no database: DATABASE_URL is not set")


def test_a_database_that_does_not_answer_is_one_line() -> None:
    answer = omoi("api", DATABASE_URL="postgresql://u:hush-hush@127.0.0.1:1/none")

    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert answer.stderr.startswith("omoi: the database does not answer (connection failed: ")
    assert "\\x09" not in answer.stderr
    assert "hush-hush" not in answer.stderr


def test_an_option_overrides_the_environment_and_a_folder_that_cannot_be_created_is_named() -> None:
    answer = omoi("serve", "--data-dir", "/proc/none", OMOI_DATA_DIR="/tmp")

    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert answer.stderr.startswith("omoi: the data folder /proc/none cannot be used")


def test_the_check_of_an_orchestrator_that_does_not_run_fails(short_tmp: Path) -> None:
    answer = omoi("orchestrator", "--check", "--data-dir", str(short_tmp))

    assert (answer.returncode, answer.stdout) == (1, "no orchestrator runs in this data folder\n")
