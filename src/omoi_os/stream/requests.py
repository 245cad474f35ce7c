"""What clients ask of the stream: in the address of a connection, and in lines that they send on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from omoi_os.errors import BadToken, Invalid
from omoi_os.stream.filters import Filter, parse_types
from omoi_os.stream.position import Position
from omoi_os.strict_json import parse

#: The name of the subscription that an address describes.
DEFAULT = "default"
#: As the only type: nothing is wanted until something is subscribed to.
NOTHING = "none"
_KNOWN = frozenset({"types", "sandbox_id", "project_id", "since"})
_TOKENS = ("omoi_", "sbx_")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A subscription that is asked for; without `since` it begins now."""

    name: str
    where: Filter
    since: Position | None


class Subscribe(BaseModel):
    """Ask for a subscription; one of the same name is replaced."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["subscribe"]
    id: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
    types: list[str] = []
    sandbox_id: Annotated[str, Field(max_length=100)] | None = None
    project_id: UUID | None = None
    since: str | None = None

    def wanted(self) -> Wanted:
        """The same, checked."""
        where = Filter(parse_types(self.types), self.sandbox_id, self.project_id)
        return Wanted(self.id, where, Position.parse(self.since) if self.since else None)


class Unsubscribe(BaseModel):
    """End a subscription."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["unsubscribe"]
    id: Annotated[str, Field(max_length=64)]


class Ping(BaseModel):
    """Is anyone there? Browsers do not show the pings of the protocol itself."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["ping"]


Operation = Subscribe | Unsubscribe | Ping
_OPERATION: TypeAdapter[Operation] = TypeAdapter(Annotated[Operation, Field(discriminator="op")])


def parse_line(line: str | bytes) -> Operation:
    """What a client's line asks for; `Invalid` says what is wrong with it."""
    try:
        value = parse(line.encode() if isinstance(line, str) else line)
    except ValueError as error:
        raise Invalid(f"not valid JSON: {error}") from None
    return _validated(value)


def _validated(value: object) -> Operation:
    try:
        return _OPERATION.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        raise Invalid(f"{place}: {first['msg']}" if place else "op: must be subscribe, unsubscribe or ping") from None


def parse_query(query: Iterable[tuple[str, str]]) -> Wanted | None:
    """The subscription that an address describes, None if it wants nothing yet; `BadToken` for a token in it."""
    given: dict[str, list[str]] = {}
    for name, value in query:
        given.setdefault(name, []).append(value)
        if name not in _KNOWN:
            if "token" in name.lower() or "key" in name.lower() or value.startswith(_TOKENS):
                raise BadToken("a token in an address ends up in logs; send it in the header: Authorization: Bearer …")
            raise Invalid(f"{name[:60]}: not known here; known are {', '.join(sorted(_KNOWN))}")
    names = [name.strip() for listed in given.get("types", []) for name in listed.split(",") if name.strip()]
    if names == [NOTHING]:
        return None
    asked = {"op": "subscribe", "id": DEFAULT, "types": names}
    asked |= {name: values[-1] for name, values in given.items() if name != "types" and values[-1]}
    operation = _validated(asked)
    return operation.wanted() if isinstance(operation, Subscribe) else None
