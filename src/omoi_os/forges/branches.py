"""Branch names: built from an allow-list of characters, never quoted, never passed through a shell."""

import re
import unicodedata
from collections.abc import Collection

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
    """Return the branch name for a ticket, e.g. `feature/calculate-binomial-coefficient`."""
    prefix = "hotfix" if (ticket_type, priority) == ("bug", "CRITICAL") else _PREFIX[ticket_type]
    longest = MAX_LENGTH - len(prefix) - 1 - len("-9999")
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_title.lower()).strip("-")[:longest].strip("-")
    return f"{prefix}/{slug or 'task'}"


def numbered(name: str, number: int) -> str:
    """Return the name itself for 1, then `name-2`, `name-3`."""
    return name if number == 1 else f"{name}-{number}"


def collides(name: str, existing: Collection[str]) -> bool:
    """Return whether a branch of this name cannot be created beside these.

    Two names collide if they differ only in case, because file systems may not tell them apart, or if one is a
    folder of the other: `feature/login` and `feature/login/x` cannot both exist.
    """
    return _Names(existing).collide_with(name)


def free_name(wanted: str, existing: Collection[str]) -> str:
    """Return the wanted name, or the first of `-2`, `-3`, … that collides with no existing branch.

    If a branch has the name of the prefix, e.g. `feature`, git can create nothing below it: the slash becomes `-`.
    """
    names = _Names(existing)
    if names.any_is(_folders(wanted)):
        wanted = wanted.replace("/", "-")
    number = 1
    while names.collide_with(numbered(wanted, number)):
        number += 1
    return numbered(wanted, number)


class _Names:
    """Existing names, indexed so that a comparison takes the same time however many there are."""

    def __init__(self, existing: Collection[str]) -> None:
        self._names = {name.lower() for name in existing}
        self._folders = {folder for name in self._names for folder in _folders(name)}

    def any_is(self, names: Collection[str]) -> bool:
        return any(name.lower() in self._names for name in names)

    def collide_with(self, name: str) -> bool:
        return name.lower() in self._folders or self.any_is([name, *_folders(name)])


def _folders(name: str) -> list[str]:
    """Return `a` and `a/b` for `a/b/c`."""
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def wip_branch(subject_id: object, *, attempt: int | None = None) -> str:
    """Return the branch for the unfinished work of a task or spec.

    With `attempt`, return the one for an attempt that a later one superseded.
    """
    return f"wip/{subject_id}" if attempt is None else f"wip/{subject_id}-{attempt}"
