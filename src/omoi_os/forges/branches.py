"""Branch names (contract section 9): built from an allow-list of characters, never quoted, never through a shell."""

import re
import unicodedata

MAX_LENGTH = 80

_PREFIX = {
    "feature": "feature",
    "bug": "fix",
    "refactor": "refactor",
    "docs": "docs",
    "test": "test",
    "chore": "chore",
}


def branch_name(*, title: str, ticket_type: str, priority: str) -> str:
    """`feature/calculate-binomial-coefficient` for a feature of that title."""
    prefix = "hotfix" if (ticket_type, priority) == ("bug", "CRITICAL") else _PREFIX[ticket_type]
    room = MAX_LENGTH - len(prefix) - 1 - len("-9999")
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_title.lower()).strip("-")[:room].strip("-")
    return f"{prefix}/{slug or 'task'}"


def numbered(name: str, number: int) -> str:
    """The name itself, then `-2`, `-3` where it is taken."""
    return name if number == 1 else f"{name}-{number}"


def wip_branch(task_id: object) -> str:
    """Where a task's unfinished work is kept."""
    return f"wip/{task_id}"
