"""The catalogue of events: which types are known, what they carry, and their schemas for `openapi.json`.

An event of an unknown type is stored as it is and marked as unknown.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from omoi_os.protocol.events import KNOWN_TYPES, EventType
from omoi_os.protocol.payloads import PAYLOADS

_SCHEMAS = "#/components/schemas/"
_PAYLOAD = "Payload"
#: The reference to the schema of any event, known or not.
REFERENCE = f"{_SCHEMAS}SandboxEvent"

Schema = dict[str, Any]


def is_known(event_type: str) -> bool:
    """Tell whether the platform knows this type of event."""
    return event_type in KNOWN_TYPES


def complaint(event_type: str, event_data: Mapping[str, Any]) -> str | None:
    """Return in one line what is wrong with the payload of a known type, or None."""
    payload = PAYLOADS.get(event_type)
    if payload is None:
        return None
    try:
        msgspec.convert(event_data, payload, strict=True)
    except msgspec.ValidationError as error:
        return f"event_data: {str(error).replace('`', '')}"
    return None


def schemas(stored: Schema) -> dict[str, Schema]:
    """Return the schemas of all types by name. `stored` is the schema of an event of any type.

    `AgentEvent` is the union of the known types by `event_type`; an unknown type has `known` set to false.
    """
    known = {_name(kind): _event(stored, kind) for kind in EventType}
    mapping = {str(kind): f"{_SCHEMAS}{_name(kind)}" for kind in EventType}
    union = {
        "title": "AgentEvent",
        "description": "An event of a type that the platform knows.",
        "oneOf": [{"$ref": reference} for reference in mapping.values()],
        "discriminator": {"propertyName": "event_type", "mapping": mapping},
    }
    unknown = _narrowed(stored, "UnknownEvent", known={"type": "boolean", "const": False, "title": "Known"})
    unknown["description"] = "An event of a type that the platform does not know; it is stored as it was posted."
    either = {
        "title": "SandboxEvent",
        "description": "One stored event.",
        "anyOf": [{"$ref": f"{_SCHEMAS}AgentEvent"}, {"$ref": f"{_SCHEMAS}UnknownEvent"}],
    }
    return {**_payloads(), **known, "AgentEvent": union, "UnknownEvent": unknown, "SandboxEvent": either}


def _name(kind: str) -> str:
    """Return the schema's name: `agent.tool_use` is an `AgentToolUseEvent`."""
    return "".join(word.capitalize() for word in kind.replace("_", ".").split(".")) + "Event"


def _event(stored: Schema, kind: str) -> Schema:
    payload = PAYLOADS.get(kind)
    fields: dict[str, Schema] = {
        "event_type": {"type": "string", "const": str(kind), "title": "Event Type"},
        "known": {"type": "boolean", "const": True, "title": "Known"},
    }
    if payload is not None:
        fields["event_data"] = {"$ref": f"{_SCHEMAS}{payload.__name__}{_PAYLOAD}"}
    return _narrowed(stored, _name(kind), **fields)


def _narrowed(stored: Schema, title: str, **fields: Schema) -> Schema:
    shape = {**stored, "title": title, "properties": {**stored["properties"], **fields}}
    shape["required"] = list(shape["properties"])
    return shape


def _payloads() -> dict[str, Schema]:
    kinds = sorted(set(PAYLOADS.values()), key=lambda kind: kind.__name__)
    _, found = msgspec.json.schema_components(kinds, ref_template=f"{_SCHEMAS}{{name}}{_PAYLOAD}")
    more = {"additionalProperties": True}
    return {f"{name}{_PAYLOAD}": {**shape, **more, "title": f"{name}{_PAYLOAD}"} for name, shape in found.items()}
