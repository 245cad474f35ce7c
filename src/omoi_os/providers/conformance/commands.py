"""Commands run as requested."""

import asyncio

from omoi_os.conformance import collector, expect
from omoi_os.protocol import paths
from omoi_os.providers.conformance.bench import ENV, Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_BIG = 6_000_000
_ENVIRONMENT = """
import json
text = open('/proc/self/environ', 'rb').read().decode()
print(json.dumps(dict(item.split('=', 1) for item in text.split(chr(0)) if item)))
"""
_ARGUMENTS = "import json, sys; print(json.dumps(sys.argv[1:]))"
_FLOOD = """
import os, sys, threading
size = int(sys.argv[1])
def flood(fd):
    for part in (b'first', bytes(size), b'last'):
        while part: part = part[os.write(fd, part):]
other = threading.Thread(target=flood, args=(2,))
other.start(); flood(1); other.join()
"""
_MEET = """
import os, sys, time
open('here-' + sys.argv[1], 'w').close()
while sum(name.startswith('here-') for name in os.listdir('.')) < 6: time.sleep(0.01)
print(sys.argv[1])
"""
_OWN_PACKAGE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from omoi_os.protocol import paths
print(json.dumps(paths.WORKSPACE))
"""
#: The signal is blocked until it is waited for, so that it cannot arrive too early.
_UNTIL_SIGNALLED = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid')
signal.sigwait([signal.SIGTERM])
sys.exit(5)
"""
_INSTALLED = (
    "import importlib.util, shutil; print(bool(importlib.util.find_spec('claude_agent_sdk') and shutil.which('git')))"
)


@_check(Guarantee.COMMANDS)
async def an_exit_code_is_a_result(bench: Bench) -> None:
    """Every exit code is returned unchanged, and the sandbox stays alive."""
    ref = await bench.shared()
    for code in (0, 1, 7, 255):
        result = await bench.sh(ref, 'exit "$1"', str(code))
        expect(result.exit_code == code, f"exit {code} came back as {result.exit_code}")
    expect((await bench.provider.inspect(ref)).alive, "a failed command ended the sandbox")


@_check(Guarantee.COMMANDS)
async def a_signal_is_128_more_than_its_number(bench: Bench) -> None:
    """A command that was killed by a signal is distinguished from one that exited with 1."""
    ref = await bench.shared()
    for number in (9, 15):
        result = await bench.sh(ref, 'kill -"$1" $$', str(number))
        expect(result.exit_code == 128 + number, f"signal {number} came back as exit code {result.exit_code}")


@_check(Guarantee.COMMANDS)
async def the_two_outputs_are_kept_apart(bench: Bench) -> None:
    """Standard output and standard error are returned separately, byte for byte."""
    result = await bench.sh(await bench.shared(), "printf 'out\\001\\377'; printf 'err\\n' >&2")
    expect(result.stdout == b"out\x01\xff", f"standard output was {result.stdout!r}")
    expect(result.stderr == b"err\n", f"standard error was {result.stderr!r}")


@_check(Guarantee.COMMANDS)
async def input_arrives_whole_and_its_end_is_seen(bench: Bench) -> None:
    """Two megabytes of every byte value are passed through unchanged."""
    given = bytes(range(256)) * 8192
    result = await bench.exec(await bench.shared(), ["cat"], stdin=given)
    expect(result.stdout == given, f"{len(given)} bytes went in, {len(result.stdout)} came out, or different ones")


@_check(Guarantee.COMMANDS)
async def no_input_is_an_empty_one(bench: Bench) -> None:
    """A command that reads although there is no input sees its end at once."""
    result = await bench.exec(await bench.shared(), ["cat"])
    expect((result.exit_code, result.stdout) == (0, b""), f"reading no input gave {result}")


@_check(Guarantee.COMMANDS)
async def input_that_nobody_reads_holds_up_nothing(bench: Bench) -> None:
    """Input for a command that ends without reading it is dropped."""
    result = await bench.sh(await bench.shared(), "exit 3", stdin=bytes(4_000_000))
    expect(result.exit_code == 3, f"the command ended with {result.exit_code} instead of 3")


@_check(Guarantee.COMMANDS)
async def much_output_on_both_streams_does_not_lock(bench: Bench) -> None:
    """Megabytes on both outputs do not block; the beginning and the end are kept, and truncation is reported."""
    result = await bench.exec(await bench.shared(), bench.code(_FLOOD, str(_BIG)))
    expect(result.exit_code == 0, f"the flood ended with {result.exit_code}")
    for output in (result.stdout, result.stderr):
        expect(output.startswith(b"first"), "the start of the output is lost")
        expect(output.endswith(b"last"), "the end of the output is lost")
        expect(result.truncated or len(output) == _BIG + 9, f"{len(output)} bytes were kept without `truncated`")


@_check(Guarantee.COMMANDS)
async def a_missing_program_is_a_result(bench: Bench) -> None:
    """A program that does not exist gives the exit code of a shell: 127, or 126."""
    result = await bench.exec(await bench.shared(), ["/no/such/program"])
    expect(result.exit_code in (126, 127), f"a missing program came back as {result.exit_code}")


@_check(Guarantee.COMMANDS)
async def arguments_are_taken_as_they_are(bench: Bench) -> None:
    """No shell interprets the arguments."""
    given = ["", " ", "$HOME", "`id`", "$(id)", "a;b|c&d>e", "'\"", "\\n", "line\nline", "*", "-n", "--", "%s", "a=b"]
    found = await bench.ask(await bench.shared(), _ARGUMENTS, *given)
    wrong = [(one, other) for one, other in zip(given, found, strict=False) if one != other]
    expect(found == given, f"{len(given)} arguments became {len(found)}; changed were {wrong}")


@_check(Guarantee.COMMANDS)
async def unicode_survives_in_arguments_input_and_output(bench: Bench) -> None:
    """Text in any script is passed through unchanged."""
    text = "Grüße 思い 🪶 \u202e e\u0301"
    ref = await bench.shared()
    found = await bench.ask(ref, _ARGUMENTS, text)
    echoed = await bench.sh(ref, "printf '%s' \"$1\"; cat", text, stdin=text.encode())
    expect(found == [text], f"the argument became {found}")
    expect(echoed.stdout.decode(errors="replace") == text * 2, f"the output was {echoed.stdout!r}")


@_check(Guarantee.COMMANDS)
async def commands_run_in_the_workspace_or_in_cwd(bench: Bench) -> None:
    """The working folder is the workspace, and `cwd` changes it."""
    ref = await bench.shared()
    default = (await bench.sh(ref, "pwd -P")).stdout.decode().strip()
    reported = (await bench.sh(ref, "pwd -P", cwd=paths.HOME)).stdout.decode().strip()
    expect(default == paths.WORKSPACE, f"without cwd the command ran in {default!r}")
    expect(reported == paths.HOME, f"with cwd {paths.HOME} the command ran in {reported!r}")


@_check(Guarantee.COMMANDS)
async def several_commands_run_at_once(bench: Bench) -> None:
    """Six commands that wait for each other all end."""
    ref = await bench.make()
    calls = [bench.exec(ref, bench.code(_MEET, str(number))) for number in range(6)]
    printed = [result.stdout.decode().strip() for result in await asyncio.gather(*calls)]
    expect(printed == [str(number) for number in range(6)], f"the six commands printed {printed}")


@_check(Guarantee.COMMANDS)
async def the_environment_of_commands_is_exactly_as_given(bench: Bench) -> None:
    """Nothing is added to, inherited by or lost from a command's environment."""
    env = _awkward_environment()
    ref = await bench.make(env=env)
    _expect_same(await bench.ask(ref, _ENVIRONMENT), env)


@_check(Guarantee.COMMANDS)
async def the_environment_of_the_first_process_is_exactly_as_given(bench: Bench) -> None:
    """Nothing is added to, inherited by or lost from the first process's environment."""
    env = _awkward_environment()
    _expect_same(await bench.ask_first(_ENVIRONMENT, env=env), env)


@_check(Guarantee.COMMANDS)
async def what_the_worker_needs_is_inside(bench: Bench) -> None:
    """The runtime's interpreter finds our package and the agent's SDK, and git is on the path."""
    ref = await bench.shared()
    expect(await bench.ask(ref, _OWN_PACKAGE, bench.provider.runtime.source), "our package cannot be imported")
    found = await bench.exec(ref, [bench.provider.runtime.python, "-I", "-c", _INSTALLED])
    expect(found.stdout.strip() == b"True", f"the agent's SDK or git is missing: {found}")


@_check(Guarantee.COMMANDS)
async def a_command_can_signal_the_first_process(bench: Bench) -> None:
    """Commands see the first process, so that it can be asked to stop."""
    ref = await bench.make(bench.code(_UNTIL_SIGNALLED))
    pid = await bench.file_of(ref, "pid")
    sent = await bench.sh(ref, 'kill -TERM "$1"', pid)
    expect(sent.exit_code == 0, f"the signal could not be sent: {sent.stderr.decode(errors='replace')}")
    report = await bench.end_of(ref)
    expect(report.exit_code == 5, f"the first process did not get the signal: {report}")


def _awkward_environment() -> dict[str, str]:
    return {**ENV, "GREETING": "good = 'morning'\n\"all\" $HOME `id`", "EMPTY": "", "思い": "🪶"}


def _expect_same(found: dict[str, str], given: dict[str, str]) -> None:
    added = sorted(found.keys() - given.keys())
    lost = sorted(given.keys() - found.keys())
    changed = sorted(name for name in given.keys() & found.keys() if given[name] != found[name])
    expect(not (added or lost or changed), f"added: {added}, lost: {lost}, changed: {changed}")
