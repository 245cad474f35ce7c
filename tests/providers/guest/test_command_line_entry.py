"""The guest that is called by command lines, packed as for Daytona: real processes, no sandbox around them."""

import ast
import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from omoi_os.providers.daytona import guest_calls
from omoi_os.providers.guest import bundle
from tests.providers.daytona.toolbox import split

#: Starts a child in its own session, whose parent is then gone, and prints its number.
ESCAPE = """
import os, sys
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.write(writing, b".")
        os.close(1); os.close(2)
        import time; time.sleep(600)
    os._exit(0)
os.wait()
os.read(reading, 1)
"""


def begin(mode: str, request: dict[str, Any], *, mark: str = "-", **options: Any) -> "subprocess.Popen[bytes]":
    words = split(guest_calls.command(sys.executable, mode, guest_calls.document(request), mark=mark))
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def answer(guest: "subprocess.Popen[bytes]") -> dict[str, Any]:
    out, err = guest.communicate(timeout=30)
    assert guest.returncode == 0, err.decode()
    return guest_calls.answer(out.decode(), "it")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    path = tmp_path / "start.json"
    path.write_text(json.dumps({"env": {"ONLY": "this", "PATH": os.environ["PATH"]}}))
    return path


@pytest.fixture
def request_for(tmp_path: Path, start: Path) -> Any:
    def make(argv: list[str], **changes: Any) -> dict[str, Any]:
        fields = {"argv": argv, "cwd": str(tmp_path), "stdin": None, "timeout": 20, "keep": 1000, "start": str(start)}
        return fields | {"inline": 100_000, "output": str(tmp_path / "output")} | changes

    return make


def output(said: dict[str, Any]) -> bytes:
    return base64.b64decode(said["all"])[: said["out_size"]]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_command_line_means_the_same_to_a_shell_as_to_a_daemon_that_only_splits() -> None:
    line = guest_calls.command("/a b/python", "run", guest_calls.document({"argv": ["'\"$(id)\n"]}), mark="abc")

    shell = subprocess.run(["sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)

    assert shell.stdout.decode().split("\0")[:-1] == split(line)


def test_arguments_environment_and_input_arrive_as_they_are(request_for: Any, tmp_path: Path) -> None:
    stdin = tmp_path / "stdin"
    given = b"\0\xff in"
    stdin.write_bytes(given)
    code = "import os, sys; print(ascii(sys.argv[1:]), dict(os.environ), sys.stdin.buffer.read(), os.getcwd())"
    words = ["", "ü \udcff", "$(id) '\" \n"]

    said = answer(begin("run", request_for([sys.executable, "-I", "-S", "-c", code, *words], stdin=str(stdin))))

    env = {"ONLY": "this", "PATH": os.environ["PATH"]}
    expected = f"{words!a} {env} {given!r} {tmp_path}\n"
    # Python itself may add what it makes of a missing locale.
    assert output(said).decode().replace(", 'LC_CTYPE': 'C.UTF-8'", "") == expected
    assert (said["exit"], stdin.exists()) == (0, False)


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("exec /nonexistent", 127)])
def test_an_end_is_reported_as_by_a_shell(request_for: Any, script: str, code: int) -> None:
    assert answer(begin("run", request_for(["sh", "-c", script])))["exit"] == code


def test_a_command_that_cannot_be_started_is_a_result(request_for: Any) -> None:
    missing = answer(begin("run", request_for(["no-such-program"])))
    refused = answer(begin("run", request_for(["/etc/passwd"])))
    nowhere = answer(begin("run", request_for(["true"], cwd="/nonexistent")))

    assert [said["exit"] for said in (missing, refused, nowhere)] == [127, 126, 127]
    assert b"no-such-program" in base64.b64decode(missing["all"])


def test_the_middle_of_a_long_output_is_cut(request_for: Any) -> None:
    said = answer(begin("run", request_for(["sh", "-c", "echo begin; yes | head -c 10000000; echo end"])))

    kept = output(said)
    assert (said["cut"], len(kept), kept[:6], kept[-4:]) == (True, 2000, b"begin\n", b"end\n")


def test_a_long_output_is_returned_in_a_file(request_for: Any, tmp_path: Path) -> None:
    said = answer(begin("run", request_for(["sh", "-c", "echo out; echo err >&2"], inline=3)))

    assert (said["all"], said["out_size"], (tmp_path / "output").read_bytes()) == (None, 4, b"out\nerr\n")


def test_processes_that_a_command_leaves_running_are_killed(request_for: Any) -> None:
    said = answer(begin("run", request_for([sys.executable, "-c", ESCAPE])))

    assert (said["exit"], said["dead"]) == (0, True)
    assert not is_alive(int(output(said)))


def test_a_time_out_kills_the_whole_tree(request_for: Any) -> None:
    code = ESCAPE + "import time; time.sleep(600)"

    began = time.monotonic()
    said = answer(begin("run", request_for([sys.executable, "-c", code], timeout=1)))

    assert (said["timeout"], said["dead"]) == (True, True)
    assert not is_alive(int(output(said)))
    assert time.monotonic() - began < 10


def test_a_command_is_ended_by_its_mark(request_for: Any) -> None:
    running = begin("run", request_for([sys.executable, "-c", ESCAPE + "import time; time.sleep(600)"]), mark="m1")
    try:
        escaped = wait_for_child(running.pid)

        assert answer(begin("stop", {"mark": "m2"})) == {"dead": True}
        assert is_alive(escaped)
        assert answer(begin("stop", {"mark": "m1"})) == {"dead": True}
        assert not is_alive(escaped)
        assert answer(running)["stopped"] is True
    finally:
        running.kill()


def wait_for_child(guest: int) -> int:
    """The process that escaped has become the guest's own child, beside the command itself."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        children = Path(f"/proc/{guest}/task/{guest}/children").read_text().split()
        if len(children) == 2:
            return int(children[1])
        os.sched_yield()
    raise AssertionError("nothing escaped")


@pytest.mark.parametrize(
    ("argv", "lifetime", "end"),
    [
        (["sh", "-c", "exit 3"], 20, {"reason": "exited", "exit_code": 3, "signal": None}),
        (["sh", "-c", "kill -TERM $$"], 20, {"reason": "signalled", "exit_code": None, "signal": 15}),
        (["sleep", "600"], 0.3, {"reason": "lifetime", "exit_code": None, "signal": 9}),
        (["no-such-program"], 20, {"reason": "exited", "exit_code": 127, "signal": None}),
    ],
)
def test_the_end_of_the_first_process_is_recorded(
    tmp_path: Path, argv: list[str], lifetime: float, end: dict[str, Any]
) -> None:
    path = tmp_path / "first.json"
    env = {"PATH": os.environ["PATH"]}
    path.write_text(
        json.dumps(
            {
                "argv": argv,
                "env": env,
                "cwd": str(tmp_path),
                "lifetime": lifetime,
                "memory_bytes": 1 << 30,
                "places": [str(tmp_path)],
            }
        )
    )

    guest = begin("first", {"start": str(path), "end": str(tmp_path / "end.json")})
    guest.communicate(timeout=30)

    recorded = json.loads((tmp_path / "end.json").read_text())
    assert {key: recorded[key] for key in end} == end
    code = end["exit_code"] if end["signal"] is None else 128 + end["signal"]
    assert guest.returncode == code


def test_a_guest_that_is_terminated_ends_the_first_process(tmp_path: Path) -> None:
    path = tmp_path / "first.json"
    document = {"argv": ["sh", "-c", "touch up; sleep 600"], "env": {"PATH": os.environ["PATH"]}, "cwd": str(tmp_path)}
    path.write_text(json.dumps({**document, "lifetime": 60, "memory_bytes": 1 << 30, "places": [str(tmp_path)]}))
    guest = begin("first", {"start": str(path), "end": str(tmp_path / "end.json")})
    while not (tmp_path / "up").exists():
        os.sched_yield()

    guest.send_signal(signal.SIGTERM)
    guest.communicate(timeout=30)

    assert json.loads((tmp_path / "end.json").read_text())["reason"] == "destroyed"


@pytest.mark.parametrize("name", ["a file with blanks", "ü/deep/file", "plain"])
def test_a_file_is_placed_and_copied_under_any_name(tmp_path: Path, name: str) -> None:
    upload, download = tmp_path / "upload", tmp_path / "download"
    upload.write_bytes(b"content")
    path = {"path": f"{tmp_path}/{name}", "places": [str(tmp_path)]}

    assert answer(begin("place", {"source": str(upload), **path})) == {"error": None}
    assert answer(begin("copy", {"target": str(download), **path})) == {"error": None}

    assert (upload.exists(), (tmp_path / name).read_bytes(), download.read_bytes()) == (False, b"content", b"content")


def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "upload").write_bytes(b"content")
    path = {"path": f"{tmp_path}/link/omoi", "places": [str(tmp_path)]}

    placed = answer(begin("place", {"source": str(tmp_path / "upload"), **path}))
    copied = answer(begin("copy", {"target": str(tmp_path / "download"), **path}))

    assert placed["error"] is not None
    assert copied["error"] is not None


def test_the_packed_guest_is_written_in_the_oldest_python_that_it_supports() -> None:
    for name in bundle.MODULES:
        ast.parse((Path(bundle.__file__).parent / f"{name}.py").read_text(), feature_version=(3, 9))


def test_the_packed_guest_needs_nothing_but_the_standard_library() -> None:
    code = f"import sys; sys.argv = ['-c', 'usage', {guest_calls.document({'places': ['/']})!r}]; {bundle.boot_code()}"
    alone = subprocess.run(["/usr/bin/python3", "-I", "-S", "-c", code], capture_output=True, check=False, cwd="/")

    assert alone.returncode == 0, alone.stderr
    assert json.loads(alone.stdout)["pids"] > 0
