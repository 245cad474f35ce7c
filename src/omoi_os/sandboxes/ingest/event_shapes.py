"""Events as a union told apart by their type, for the API's description; what is sent is not checked against it."""

from typing import Any

import msgspec

from omoi_os.protocol.events import EventType
from omoi_os.protocol.payloads import PAYLOADS

_PLACE = "#/components/schemas/"
_PAYLOAD = "Payload"
#: Any event of a sandbox, known or not.
REFERENCE = f"{_PLACE}SandboxEvent"

Schema = dict[str, Any]


def components(stored: Schema) -> dict[str, Schema]:
    """The schemas by name. `stored` describes an event of any type.

    `AgentEvent` is every known one by its `event_type`; an unknown one is told apart by `known`.
    """
    known = {_name(kind): _event(stored, kind) for kind in EventType}
    mapping = {str(kind): f"{_PLACE}{_name(kind)}" for kind in EventType}
    union = {
        "title": "AgentEvent",
        "description": "An event of a type that the platform knows.",
        "oneOf": [{"$ref": place} for place in mapping.values()],
        "discriminator": {"propertyName": "event_type", "mapping": mapping},
    }
    unknown = _narrowed(stored, "UnknownEvent", known={"type": "boolean", "const": False, "title": "Known"})
    unknown["description"] = "An event of a type that the platform does not know; it is kept as it came."
    either = {
        "title": "SandboxEvent",
        "description": "One stored event.",
        "anyOf": [{"$ref": f"{_PLACE}AgentEvent"}, {"$ref": f"{_PLACE}UnknownEvent"}],
    }
    return {**_payloads(), **known, "AgentEvent": union, "UnknownEvent": unknown, "SandboxEvent": either}


def _name(kind: str) -> str:
    """`agent.tool_use` is an `AgentToolUseEvent`."""
    return "".join(word.capitalize() for word in kind.replace("_", ".").split(".")) + "Event"


def _event(stored: Schema, kind: str) -> Schema:
    payload = PAYLOADS.get(kind)
    fields: dict[str, Schema] = {
        "event_type": {"type": "string", "const": str(kind), "title": "Event Type"},
        "known": {"type": "boolean", "const": True, "title": "Known"},
    }
    if payload is not None:
        fields["event_data"] = {"$ref": f"{_PLACE}{payload.__name__}{_PAYLOAD}"}
    return _narrowed(stored, _name(kind), **fields)


def _narrowed(stored: Schema, title: str, **fields: Schema) -> Schema:
    shape = {**stored, "title": title, "properties": {**stored["properties"], **fields}}
    shape["required"] = list(shape["properties"])
    return shape


def _payloads() -> dict[str, Schema]:
    kinds = sorted(set(PAYLOADS.values()), key=lambda kind: kind.__name__)
    _, found = msgspec.json.schema_components(kinds, ref_template=f"{_PLACE}{{name}}{_PAYLOAD}")
    more = {"additionalProperties": True}
    return {f"{name}{_PAYLOAD}": {**shape, **more, "title": f"{name}{_PAYLOAD}"} for name, shape in found.items()}
