"""The variables of a start, read and checked before anything that takes long to import is there."""

from __future__ import annotations

import _json  # `json` itself takes longer to import than Python takes to start
import binascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: Without these there is no start.
NEEDED = ("SANDBOX_ID", "TASK_DATA_BASE64", "CALLBACK_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN")

#: The fields that every assignment has.
ASSIGNMENT_FIELDS = frozenset(
    {"sandbox_id", "task_id", "attempt", "title", "description", "branch_name", "default_branch", "git_url"}
)


class BadEnvironment(Exception):
    """A variable is missing or unreadable; the worker cannot start."""


class _Rules:
    """How JSON is read: as `json.loads` does by default."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = _json.make_scanner(_Rules())  # type: ignore[arg-type]


def _loads(raw: bytes) -> object:
    text = raw.decode().strip(" \t\n\r")
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("there is no value") from None
    if end != len(text):
        raise ValueError("something follows the value")
    return value


def parse(raw: bytes) -> dict[str, str]:
    """Read the variables from a JSON object, which is how they come to a process that has none."""
    try:
        variables = _loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadEnvironment(f"the variables are not JSON: {error}") from error
    if isinstance(variables, dict) and all(isinstance(value, str) for value in variables.values()):
        return variables
    raise BadEnvironment("the variables are not a JSON object of texts")


def assignment(variables: Mapping[str, str]) -> dict[str, object]:
    """The fields of the assignment among the variables; `BadEnvironment` names the first variable that is wrong."""
    missing = [name for name in NEEDED if not variables.get(name)]
    if missing:
        raise BadEnvironment(f"{missing[0]} is not set; the orchestrator starts the worker with it")
    try:
        fields = _loads(binascii.a2b_base64(variables["TASK_DATA_BASE64"]))
    except (ValueError, RecursionError) as error:
        raise BadEnvironment(f"TASK_DATA_BASE64 is not an assignment: {error}") from error
    if not isinstance(fields, dict):
        raise BadEnvironment("TASK_DATA_BASE64 is not an assignment: it is no JSON object")
    if absent := sorted(ASSIGNMENT_FIELDS - fields.keys()):
        raise BadEnvironment(f"TASK_DATA_BASE64 is not an assignment: {absent[0]} is missing")
    return fields
