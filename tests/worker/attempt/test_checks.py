"""The acceptance commands inside a sandbox: bounded in time and output, and no process of them stays."""

import os
from pathlib import Path

from omoi_os.worker.attempt.checks import EXIT_TIMED_OUT, OUTPUT_BYTES, describe, run_checks

ENVIRON = {"PATH": os.defpath, "HOME": "/"}


async def test_commands_run_in_order_until_one_fails(tmp_path: Path) -> None:
    checks = await run_checks(
        ["echo one > f", "cat f; echo two >&2; exit 3", "echo no"], workspace=tmp_path, environ=ENVIRON
    )

    assert checks == [
        {"command": "echo one > f", "exit_code": 0, "output": ""},
        {"command": "cat f; echo two >&2; exit 3", "exit_code": 3, "output": "one\ntwo\n"},
    ]
    assert describe(checks[1:]) == "$ cat f; echo two >&2; exit 3\n(exit code 3)\none\ntwo\n"


async def test_of_a_long_output_the_end_is_kept(tmp_path: Path) -> None:
    (check,) = await run_checks(
        ["head -c 3000000 /dev/zero | tr '\\0' x; echo end"], workspace=tmp_path, environ=ENVIRON
    )

    assert check["exit_code"] == 0
    assert len(check["output"]) == OUTPUT_BYTES
    assert check["output"].endswith("end\n")


async def test_a_command_that_takes_too_long_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    command = "setsid sleep 1000 & echo $! > pid; sleep 1000"
    (check,) = await run_checks([command], workspace=tmp_path, environ=ENVIRON, seconds=0.5)

    assert check["exit_code"] == EXIT_TIMED_OUT
    assert "stopped after 0.5 s" in check["output"]
    assert not _runs(int((tmp_path / "pid").read_text()))


async def test_a_server_that_a_command_leaves_behind_is_killed(tmp_path: Path) -> None:
    (check,) = await run_checks(["setsid sleep 1000 & echo $! > pid"], workspace=tmp_path, environ=ENVIRON)

    assert check["exit_code"] == 0
    assert not _runs(int((tmp_path / "pid").read_text()))


def _runs(pid: int) -> bool:
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False
