"""The arguments and options of each command, besides the settings that all commands take."""

import argparse
from collections.abc import Callable, Mapping

from omoi_os.accounts.models import Scope
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.providers.registry import ProviderName
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.visibility import Role

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


def _credentials(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=["list", "add", "check", "delete", "rotate"],
        help="what to do; rotate encrypts all credentials with a new key and runs on the server",
    )
    parser.add_argument("credential", metavar="ID", nargs="?", help="the credential to check or delete")
    adding = parser.add_argument_group("for add, which reads the secret from a prompt or from standard input")
    adding.add_argument("--provider", choices=[str(provider) for provider in CredentialProvider], help="what it is for")
    adding.add_argument("--name", help="a name by which you recognise it")
    adding.add_argument("--base-url", metavar="URL", help="its host, for anthropic_compatible and git")
    adding.add_argument("--model", help="the model that calls with it use")
    adding.add_argument("--username", metavar="NAME", help="the user name, for git over HTTPS")
    adding.add_argument("--known-hosts", metavar="FILE", help="the host's public keys, for git over SSH")
    adding.add_argument(
        "--default", dest="is_default", action=argparse.BooleanOptionalAction, help="whether your tasks use it"
    )
    _flag(adding, "--shared", "use it for everyone without a credential (administrators only)")
    _flag(parser, "--json", "print one JSON object per line")


def _doctor(parser: Parser) -> None:
    names = ", ".join(ProviderName)
    parser.add_argument("--provider", metavar="NAME", help=f"also test this provider on real sandboxes: {names}")


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


def _fetch(parser: Parser) -> None:
    parser.add_argument("task", metavar="TASK", help="id of a task")
    _flag(parser, "--json", "print one JSON object")


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
        help="id of a finished sandbox (default: create a ticket and check its sandbox)",
    )


def _users(parser: Parser) -> None:
    parser.add_argument(
        "action",
        choices=["list", "add", "deactivate", "link"],
        help="what to do; link prints a one-time sign-in link",
    )
    parser.add_argument("user", metavar="EMAIL", nargs="?", help="the user's e-mail address; not for list")
    adding = parser.add_argument_group("for add")
    adding.add_argument("--name", help="the name that other people see (default: the address before the @)")
    adding.add_argument("--role", choices=[str(role) for role in Role], help="role of the user (default: member)")
    _flag(parser, "--json", "print one JSON object per line")


def _keys(parser: Parser) -> None:
    parser.add_argument("action", choices=["list", "create", "revoke"], help="what to do; create prints the key once")
    parser.add_argument("key", metavar="ID", nargs="?", help="the key to revoke")
    creating = parser.add_argument_group("for create")
    creating.add_argument("--name", help="a name by which you recognise the key")
    creating.add_argument(
        "--scope", choices=[str(scope) for scope in Scope], help="what the key may do (default: all that you may do)"
    )
    creating.add_argument("--expires-in-days", type=_count, metavar="N", help="let the key expire (default: never)")
    _flag(parser, "--json", "print one JSON object per line")


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
    "credentials": _credentials,
    "doctor": _doctor,
    "sandboxes": _sandboxes,
    "events": _events,
    "logs": _logs,
    "fetch": _fetch,
    "compare": _compare,
    "cleanup": _cleanup,
    "verify": _verify,
    "users": _users,
    "keys": _keys,
}
