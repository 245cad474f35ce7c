"""What a subscription wants to hear of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from omoi_os.errors import Invalid

#: Every type that the stream knows; of the last there are several.
TYPES = (
    "sandbox.event",
    "sandbox.status",
    "task.status",
    "ticket.status",
    "spec.phase",
    "message.status",
    "monitoring.*",
)
MAX_TYPES = 20
_NAME = re.compile(r"[a-z]+\.(\*|[a-z_]{1,60})|\*", re.ASCII)
_KINDS = frozenset(known.partition(".")[0] for known in TYPES)


@dataclass(frozen=True, slots=True)
class Filter:
    """Types (`sandbox.event`, `monitoring.*`, `*`), a sandbox, a project; what is None filters nothing."""

    types: tuple[str, ...] | None = None
    sandbox_id: str | None = None
    project_id: UUID | None = None

    def wants(self, kind: str) -> bool:
        """Whether a type is among those asked for."""
        if self.types is None:
            return True
        return any(kind == name or (name.endswith("*") and kind.startswith(name[:-1])) for name in self.types)

    def patterns(self) -> list[str] | None:
        """The types for a query."""
        if self.types is None:
            return None
        return [name.replace("_", r"\_").replace("*", "%") for name in self.types]


def parse_types(names: Sequence[str]) -> tuple[str, ...] | None:
    """The types that were asked for, None for all of them; `Invalid` for one that the stream does not know."""
    if len(names) > MAX_TYPES:
        raise Invalid(f"types: at most {MAX_TYPES} can be named")
    for name in names:
        kind = name.partition(".")[0]
        known = name == "*" or name in TYPES or kind == "monitoring" or (name.endswith(".*") and kind in _KINDS)
        if not known or not _NAME.fullmatch(name):
            raise Invalid(f"types: {name[:60]!r} is not one of {', '.join(TYPES)}")
    return None if not names or "*" in names else tuple(dict.fromkeys(names))
