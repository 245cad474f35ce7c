"""What each command takes on the command line besides the settings."""

import argparse
from collections.abc import Callable, Mapping

from omoi_os.sandboxes.lifecycle import SandboxState

Parser = argparse.ArgumentParser


def add(name: str, parser: Parser) -> None:
    """Add a command's own arguments. What is not given is left out of the parameters: its default is None."""
    if name in _OWN:
        _OWN[name](parser)


def _part(parser: Parser) -> None:
    _flag(parser, "--no-migrate", "the schema is current")


def _orchestrator(parser: Parser) -> None:
    _part(parser)
    _flag(parser, "--check", "only check the health of the one that runs in this data folder: exit code 0 or 1")


def _doctor(parser: Parser) -> None:
    parser.add_argument("--provider", metavar="NAME", help="try out this provider of sandboxes, behaviour by behaviour")


def _sandboxes(parser: Parser) -> None:
    parser.add_argument("--status", choices=[str(state) for state in SandboxState], help="those in one state only")
    parser.add_argument("--limit", type=_count, metavar="N", help="how many at most (20)")
    _flag(parser, "--json", "one JSON object per line")


def _events(parser: Parser) -> None:
    _sandbox(parser)
    parser.add_argument("--type", metavar="TYPE", help="those of one type only, such as agent.tool_use")
    _flag(parser, "--follow", "go on with what comes, until the sandbox has ended")
    _flag(parser, "--json", "one JSON object per line")


def _logs(parser: Parser) -> None:
    _sandbox(parser)
    _flag(parser, "--follow", "go on with what comes, until the sandbox has ended")


def _compare(parser: Parser) -> None:
    parser.add_argument("first", metavar="A", help="a sandbox's id")
    parser.add_argument("others", metavar="B", nargs="+", help="those to compare it with")
    _flag(parser, "--json", "one JSON object")


def _cleanup(parser: Parser) -> None:
    choice = parser.add_mutually_exclusive_group()
    _flag(choice, "--dry-run", "only say what would be ended; this is the default")
    _flag(choice, "--yes", "end them")


def _verify(parser: Parser) -> None:
    parser.add_argument(
        "sandbox", metavar="SANDBOX", nargs="?", help="a finished sandbox; without one a new ticket is run and checked"
    )


def _sandbox(parser: Parser) -> None:
    parser.add_argument("sandbox", metavar="SANDBOX", help="a sandbox's id")


def _flag(parser: argparse._ActionsContainer, name: str, summary: str) -> None:
    parser.add_argument(name, action="store_true", default=None, help=summary)


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return number


_OWN: Mapping[str, Callable[[Parser], None]] = {
    "api": _part,
    "gateway": _part,
    "orchestrator": _orchestrator,
    "doctor": _doctor,
    "sandboxes": _sandboxes,
    "events": _events,
    "logs": _logs,
    "compare": _compare,
    "cleanup": _cleanup,
    "verify": _verify,
}
