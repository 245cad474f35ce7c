"""Requests to the stream: the query of its address, and the lines that clients send."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from omoi_os.errors import BadToken, Invalid
from omoi_os.http.sentences import explain, place_of
from omoi_os.stream.filters import Filter, parse_types
from omoi_os.stream.position import Position
from omoi_os.strict_json import parse

#: The name of the subscription in the query of the address.
DEFAULT = "default"
#: As the only type in the query: open the connection without a subscription.
NOTHING = "none"
_KNOWN = frozenset({"types", "sandbox_id", "project_id", "since"})
_TOKENS = ("omoi_", "sbx_")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requested subscription; without `since` it starts at the present."""

    name: str
    where: Filter
    since: Position | None


class Subscribe(BaseModel):
    """Start a subscription; it replaces one with the same name."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["subscribe"]
    id: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
    types: list[str] = []
    sandbox_id: Annotated[str, Field(max_length=100)] | None = None
    project_id: UUID | None = None
    since: str | None = None

    def wanted(self) -> Wanted:
        """Return the validated subscription."""
        where = Filter(parse_types(self.types), self.sandbox_id, self.project_id)
        return Wanted(self.id, where, Position.parse(self.since) if self.since else None)


class Unsubscribe(BaseModel):
    """End a subscription."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["unsubscribe"]
    id: Annotated[str, Field(max_length=64)]


class Ping(BaseModel):
    """Check that the server answers; scripts in browsers cannot see the pings of the protocol."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["ping"]


Operation = Subscribe | Unsubscribe | Ping
_OPERATION: TypeAdapter[Operation] = TypeAdapter(Annotated[Operation, Field(discriminator="op")])


def parse_line(line: str | bytes) -> Operation:
    """Return the operation in a line; raise `Invalid` for an invalid one."""
    try:
        value = parse(line.encode() if isinstance(line, str) else line)
    except ValueError as error:
        raise Invalid(f"the line is not valid JSON: {error}") from None
    return _validated(value)


def _validated(value: object) -> Operation:
    try:
        return _OPERATION.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = place_of(first["loc"]) if first["loc"] else "op"
        raise Invalid(f"{place}: {explain(first)}") from None


def parse_query(query: Iterable[tuple[str, str]]) -> Wanted | None:
    """Return the subscription in the query, None if it has none; raise `BadToken` if it contains a token."""
    given: dict[str, list[str]] = {}
    for name, value in query:
        given.setdefault(name, []).append(value)
        if name not in _KNOWN:
            if "token" in name.lower() or "key" in name.lower() or value.startswith(_TOKENS):
                raise BadToken(
                    "a token in the address would end up in logs; send it in the header: Authorization: Bearer …"
                )
            raise Invalid(f"{name[:60]}: must be one of {', '.join(sorted(_KNOWN))}")
    names = [name.strip() for listed in given.get("types", []) for name in listed.split(",") if name.strip()]
    if names == [NOTHING]:
        return None
    asked = {"op": "subscribe", "id": DEFAULT, "types": names}
    asked |= {name: values[-1] for name, values in given.items() if name != "types" and values[-1]}
    operation = _validated(asked)
    return operation.wanted() if isinstance(operation, Subscribe) else None
