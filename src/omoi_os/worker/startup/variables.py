"""Read and validate the variables of a start before anything slow is imported.

`json` is slow here: importing it takes 5.1 ms of processor time, when Python itself starts in 6.1 ms and the worker
writes its first event after 8.5 ms. It would delay every ticket's first event (P1) by about 6 %. So this stage uses
the C scanner behind `json`, and `cold_start` formats its one event itself; a test holds both against `json`.
"""

from __future__ import annotations

import _json
import binascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

#: The variables that every start needs.
NEEDED = ("SANDBOX_ID", "TASK_DATA_BASE64", "CALLBACK_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN")

#: The fields that every assignment has.
ASSIGNMENT_FIELDS = frozenset(
    {"sandbox_id", "task_id", "attempt", "title", "description", "branch_name", "default_branch", "git_url"}
)


class BadEnvironment(Exception):
    """A variable is missing or invalid, so the worker cannot start."""


class _Rules:
    """The defaults of `json.loads`."""

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
        raise ValueError("no value found") from None
    if end != len(text):
        raise ValueError("extra data after the value")
    return value


def parse(raw: bytes) -> dict[str, str]:
    """Read variables that were handed over as a JSON object. Raises `BadEnvironment`."""
    try:
        variables = _loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadEnvironment(f"the variables are not JSON: {error}") from error
    if isinstance(variables, dict) and all(isinstance(value, str) for value in variables.values()):
        return variables
    raise BadEnvironment("the variables are not a JSON object of strings")


def assignment(variables: Mapping[str, str]) -> dict[str, object]:
    """Return the fields of the assignment. Raises `BadEnvironment`, which names the first invalid variable."""
    missing = [name for name in NEEDED if not variables.get(name)]
    if missing:
        raise BadEnvironment(f"{missing[0]} is not set; the orchestrator starts the worker with it")
    try:
        fields = _loads(binascii.a2b_base64(variables["TASK_DATA_BASE64"]))
    except (ValueError, RecursionError) as error:
        raise BadEnvironment(f"TASK_DATA_BASE64 is not an assignment: {error}") from error
    if not isinstance(fields, dict):
        raise BadEnvironment("TASK_DATA_BASE64 is not an assignment: it is not a JSON object")
    if absent := sorted(ASSIGNMENT_FIELDS - fields.keys()):
        raise BadEnvironment(f"TASK_DATA_BASE64 is not an assignment: {absent[0]} is missing")
    return fields
