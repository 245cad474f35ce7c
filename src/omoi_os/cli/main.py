"""`omoi`: parse the command line and run one command."""

import argparse
import difflib
import errno
import importlib
import importlib.metadata
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from omoi_os.cli import arguments
from omoi_os.errors import ConfigError, OmoiError
from omoi_os.printable import one_line
from omoi_os.system import garbage as collector

#: Each command's module and its summary. A module is imported only when its command runs.
COMMANDS = {
    "serve": ("omoi_os.cli.commands.serve", "run the whole platform on this machine"),
    "api": ("omoi_os.cli.commands.api", "run the API on its own"),
    "gateway": ("omoi_os.cli.commands.gateway", "run the gateway on its own"),
    "orchestrator": ("omoi_os.cli.commands.orchestrator", "run an orchestrator on its own, or check a running one"),
    "sign-in": ("omoi_os.cli.commands.sign_in", "print a link that signs a browser in as the first administrator"),
    "credentials": ("omoi_os.cli.commands.credentials", "list, add, check and delete your credentials"),
    "demo": ("omoi_os.cli.commands.demo", "create a ticket and follow it to a verified branch, step by step"),
    "doctor": ("omoi_os.cli.commands.doctor", "check this machine and the configuration, and say how to fix problems"),
    "users": ("omoi_os.cli.commands.people.users", "list, add and deactivate users, and invite them with a link"),
    "keys": ("omoi_os.cli.commands.people.keys", "list, create and revoke your API keys"),
    "sandboxes": ("omoi_os.cli.commands.sandboxes", "list the newest sandboxes"),
    "events": ("omoi_os.cli.commands.events", "show the events of a sandbox"),
    "logs": ("omoi_os.cli.commands.logs", "show the log of a sandbox"),
    "fetch": ("omoi_os.cli.commands.fetch", "fetch the branch of a task into the repository of this folder"),
    "compare": ("omoi_os.cli.commands.compare", "compare sandboxes and show where their tool calls diverge"),
    "cleanup": ("omoi_os.cli.commands.cleanup", "find orphaned sandboxes, and stop them with --yes"),
    "verify": ("omoi_os.cli.commands.verify", "check a running platform end to end"),
}
#: The exit code of an interrupted command, as shells define it.
INTERRUPTED = 130
#: The exit code when the program that reads the output has closed the pipe, as shells define it.
READER_GONE = 141
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(given: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code. An expected failure prints one sentence and no traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Titles and outputs may hold any character; not every terminal can print each of them.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if given is None else given
    parser = _parser()
    _check_command(parser, given)
    values = vars(parser.parse_args(given))
    command = values.pop("command")
    try:
        with collector.at_rest():
            module = importlib.import_module(COMMANDS[command][0])
        code: int = module.run({name: value for name, value in values.items() if value is not None})
        sys.stdout.flush()
    except ConfigError as error:
        _print_error(str(error))
        code = 2
    except OmoiError as error:
        _print_error(str(error))
        code = 1
    except BrokenPipeError:
        # Discard the rest: flushing it at exit would raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = READER_GONE
    except OSError as error:
        if error.errno not in _DISK_FULL:
            raise
        _print_error(f"the disk is full ({error.filename or 'data folder'}); free some space and try again")
        code = 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def _print_error(sentence: str) -> None:
    print(f"omoi: {one_line(sentence)}", file=sys.stderr)


def _check_command(parser: argparse.ArgumentParser, given: Sequence[str]) -> None:
    """Exit with code 2 and a suggestion when the command does not exist.

    The options before the command take no value, so the first argument that is not an option is the command.
    """
    typed = next((argument for argument in given if not argument.startswith("-")), None)
    if typed is None or typed in COMMANDS:
        return
    similar = difflib.get_close_matches(typed.lower(), COMMANDS, n=1)
    remedy = f"did you mean {similar[0]}?" if similar else "`omoi --help` lists the commands"
    parser.error(f"unknown command {typed!r}; {remedy}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="omoi", description="Run coding agents that turn tickets into branches.")
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        _add_settings(command)
        arguments.add(name, command)
    return parser


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data-dir",
        metavar="FOLDER",
        help="data folder (default: OMOI_DATA_DIR, or /var/lib/omoi for root and ~/.local/share/omoi for others)",
    )
    command.add_argument("--host", help="address of the API (default: OMOI_HOST or 127.0.0.1)")
    command.add_argument("--port", help="port of the API (default: OMOI_PORT or 18000)")


class _Version(argparse.Action):
    """Print the version. Reading it takes time, so it is read only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"omoi {importlib.metadata.version('omoi-os')}")
        parser.exit(os.EX_OK)
