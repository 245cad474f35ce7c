"""Filters of subscriptions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from omoi_os.errors import Invalid
from omoi_os.stream.models import Change

#: Every type that the stream publishes.
TYPES = tuple(change.value for change in Change)
#: Types that later versions will publish.
RESERVED = ("spec.phase", "environment.status", "monitoring.*")
MAX_TYPES = 20
_NAME = re.compile(r"[a-z]+\.(\*|[a-z_]{1,60})|\*", re.ASCII)
_GROUPS = frozenset(known.partition(".")[0] for known in TYPES)
_RESERVED_GROUPS = frozenset(reserved.partition(".")[0] for reserved in RESERVED)


@dataclass(frozen=True, slots=True)
class Filter:
    """Types (`sandbox.event`, `task.*`, `*`), a sandbox, a project; None does not restrict."""

    types: tuple[str, ...] | None = None
    sandbox_id: str | None = None
    project_id: UUID | None = None

    def wants(self, kind: str) -> bool:
        """Return whether the filter includes a type."""
        if self.types is None:
            return True
        return any(kind == name or (name.endswith("*") and kind.startswith(name[:-1])) for name in self.types)

    def patterns(self) -> list[str] | None:
        """Return the types as patterns for `LIKE`; None for all types."""
        if self.types is None:
            return None
        return [name.replace("_", r"\_").replace("*", "%") for name in self.types]


def parse_types(names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the types of a filter, None for all of them. Raise `Invalid` for an unknown or reserved type."""
    if len(names) > MAX_TYPES:
        raise Invalid(f"types: must have at most {MAX_TYPES} items (got {len(names)})")
    names = [name.lower() for name in names]
    for name in names:
        group = name.partition(".")[0]
        known = name == "*" or name in TYPES or (name.endswith(".*") and group in _GROUPS)
        if known and _NAME.fullmatch(name):
            continue
        if group in _RESERVED_GROUPS:
            raise Invalid(f"types: {name[:60]} is not available yet; leave it out")
        raise Invalid(f"types: must be one of {', '.join(TYPES)} (got {name[:60]!r})")
    return None if not names or "*" in names else tuple(dict.fromkeys(names))
