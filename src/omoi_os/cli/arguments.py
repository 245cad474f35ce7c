"""The arguments and options of each command, besides the settings that all commands take."""

import argparse
from collections.abc import Callable, Mapping

from omoi_os.sandboxes.lifecycle import SandboxState

Parser = argparse.ArgumentParser


def add(name: str, parser: Parser) -> None:
    """Add the arguments of one command. All default to None, and `main` drops those that are None."""
    if name in _ARGUMENTS:
        _ARGUMENTS[name](parser)


def _process(parser: Parser) -> None:
    _flag(parser, "--no-migrate", "skip database migrations; the schema must be up to date")


def _orchestrator(parser: Parser) -> None:
    _process(parser)
    _flag(parser, "--check", "check the orchestrator that uses this data folder, and exit with 0 (healthy) or 1")


def _doctor(parser: Parser) -> None:
    parser.add_argument("--provider", metavar="NAME", help="also test this sandbox provider on real sandboxes")


def _sandboxes(parser: Parser) -> None:
    parser.add_argument(
        "--status", choices=[str(state) for state in SandboxState], help="list only sandboxes with this status"
    )
    parser.add_argument("--limit", type=_count, metavar="N", help="list at most N sandboxes (default: 20)")
    _flag(parser, "--json", "print one JSON object per line")


def _events(parser: Parser) -> None:
    _sandbox(parser)
    parser.add_argument("--type", metavar="TYPE", help="show only events of this type, such as agent.tool_use")
    _flag(parser, "--follow", "keep printing new events until the sandbox has ended")
    _flag(parser, "--json", "print one JSON object per line")


def _logs(parser: Parser) -> None:
    _sandbox(parser)
    _flag(parser, "--follow", "keep printing new events until the sandbox has ended")


def _compare(parser: Parser) -> None:
    parser.add_argument("first", metavar="A", help="id of a sandbox")
    parser.add_argument("others", metavar="B", nargs="+", help="ids of the sandboxes to compare it with")
    _flag(parser, "--json", "print one JSON object")


def _cleanup(parser: Parser) -> None:
    choice = parser.add_mutually_exclusive_group()
    _flag(choice, "--dry-run", "only list the sandboxes that would be stopped (default)")
    _flag(choice, "--yes", "stop them")


def _verify(parser: Parser) -> None:
    parser.add_argument(
        "sandbox",
        metavar="SANDBOX",
        nargs="?",
        help="id of a finished sandbox (default: create a ticket and check its run)",
    )


def _sandbox(parser: Parser) -> None:
    parser.add_argument("sandbox", metavar="SANDBOX", help="id of a sandbox")


def _flag(parser: argparse._ActionsContainer, name: str, summary: str) -> None:
    parser.add_argument(name, action="store_true", default=None, help=summary)


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1 (got {text})")
    return number


_ARGUMENTS: Mapping[str, Callable[[Parser], None]] = {
    "api": _process,
    "gateway": _process,
    "orchestrator": _orchestrator,
    "doctor": _doctor,
    "sandboxes": _sandboxes,
    "events": _events,
    "logs": _logs,
    "compare": _compare,
    "cleanup": _cleanup,
    "verify": _verify,
}
