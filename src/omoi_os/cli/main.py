"""`omoi`: reads the command line and hands over to one command."""

import argparse
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

#: Commands with the module that holds each. A module is loaded only when its command is called.
COMMANDS = {
    "serve": ("omoi_os.cli.commands.serve", "run the whole platform on this machine"),
    "api": ("omoi_os.cli.commands.api", "run the API alone"),
    "gateway": ("omoi_os.cli.commands.gateway", "run the gateway alone"),
    "orchestrator": ("omoi_os.cli.commands.orchestrator", "run an orchestrator alone"),
    "sign-in": ("omoi_os.cli.commands.sign_in", "print a link that signs a browser in as the first administrator"),
    "demo": ("omoi_os.cli.commands.demo", "take a ticket to a verified branch and show each step"),
    "doctor": ("omoi_os.cli.commands.doctor", "check each part of this machine and of the configuration"),
    "sandboxes": ("omoi_os.cli.commands.sandboxes", "list the newest sandboxes"),
    "events": ("omoi_os.cli.commands.events", "show a sandbox's events in order"),
    "logs": ("omoi_os.cli.commands.logs", "show a sandbox's log"),
    "compare": ("omoi_os.cli.commands.compare", "show sandboxes side by side, and where their runs part"),
    "cleanup": ("omoi_os.cli.commands.cleanup", "find sandboxes that live on for nobody, and with --yes end them"),
    "verify": ("omoi_os.cli.commands.verify", "check the whole flow of the platform that runs, step by step"),
}
#: What an interrupted command exits with, as shells do.
INTERRUPTED = 130
#: And what one whose output nobody reads any more does.
READER_GONE = 141
_OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT)


def main(given: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its code; a failure is one sentence, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Titles and outputs are in any script, and not every terminal can write each.
        sys.stdout.reconfigure(errors="backslashreplace")
    values = vars(_parser().parse_args(given))
    command = values.pop("command")
    try:
        with collector.at_rest():
            module = importlib.import_module(COMMANDS[command][0])
        code: int = module.run({name: value for name, value in values.items() if value is not None})
        sys.stdout.flush()
    except ConfigError as error:
        _complain(str(error))
        code = 2
    except OmoiError as error:
        _complain(str(error))
        code = 1
    except BrokenPipeError:
        # Whoever read this has enough. What is left to be flushed at the exit goes nowhere, without a complaint.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = READER_GONE
    except OSError as error:
        if error.errno not in _OUT_OF_ROOM:
            raise
        _complain(f"the disk that holds {error.filename or 'the data folder'} is full; free some space and try again")
        code = 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def _complain(sentence: str) -> None:
    print(f"omoi: {one_line(sentence)}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="omoi", description="Turns tickets into verified branches.")
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        _add_settings(command)
        arguments.add(name, command)
    return parser


def _add_settings(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data-dir", metavar="FOLDER", help="the data folder (OMOI_DATA_DIR)")
    command.add_argument("--host", help="the address of the API (OMOI_HOST, 127.0.0.1)")
    command.add_argument("--port", help="the port of the API (OMOI_PORT, 18000)")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"omoi {importlib.metadata.version('omoi-os')}")
        parser.exit(os.EX_OK)
