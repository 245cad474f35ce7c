"""Schemas of events for the OpenAPI document: a union that is discriminated by the event's type."""

import inspect
from typing import Any

import msgspec

from omoi_os.api import event_fields
from omoi_os.protocol.events import EventType
from omoi_os.protocol.payloads import PAYLOADS

_PLACE = "#/components/schemas/"
_PAYLOAD = "Payload"
#: Any event of a sandbox, known or not.
REFERENCE = f"{_PLACE}SandboxEvent"

Schema = dict[str, Any]


def components(stored: Schema) -> dict[str, Schema]:
    """Return the schemas by name. `stored` is the schema of an event of any type.

    `AgentEvent` is the union of all known types by `event_type`; for an unknown type `known` is false.
    """
    known = {_name(kind): _event(stored, kind) for kind in EventType}
    mapping = {str(kind): f"{_PLACE}{_name(kind)}" for kind in EventType}
    union = {
        "title": "AgentEvent",
        "description": "An event of a known type.",
        "oneOf": [{"$ref": place} for place in mapping.values()],
        "discriminator": {"propertyName": "event_type", "mapping": mapping},
    }
    unknown = _narrowed(stored, "UnknownEvent", known=_constant(stored, "known", False, kind="boolean"))
    unknown["description"] = "An event of an unknown type, stored unchanged."
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
        "event_type": _constant(stored, "event_type", str(kind), kind="string"),
        "known": _constant(stored, "known", True, kind="boolean"),
    }
    if payload is None:
        return _narrowed(stored, _name(kind), **fields)
    described = {"description": stored["properties"]["event_data"]["description"]}
    fields["event_data"] = {"$ref": f"{_PLACE}{payload.__name__}{_PAYLOAD}"} | described
    meaning, *_ = inspect.cleandoc(payload.__doc__ or "").splitlines()
    return {**_narrowed(stored, _name(kind), **fields), "description": meaning}


def _constant(stored: Schema, field: str, value: object, *, kind: str) -> Schema:
    described = stored["properties"][field]
    return {"type": kind, "const": value, "title": described["title"], "description": described["description"]}


def _narrowed(stored: Schema, title: str, **fields: Schema) -> Schema:
    shape = {**stored, "title": title, "properties": {**stored["properties"], **fields}}
    shape["required"] = list(shape["properties"])
    return shape


def _payloads() -> dict[str, Schema]:
    kinds = sorted(set(PAYLOADS.values()), key=lambda kind: kind.__name__)
    _, found = msgspec.json.schema_components(kinds, ref_template=f"{_PLACE}{{name}}{_PAYLOAD}")
    return {f"{name}{_PAYLOAD}": _payload(name, shape) for name, shape in found.items()}


def _payload(name: str, shape: Schema) -> Schema:
    fields = {
        field: {**schema, "description": event_fields.describe(name, field)}
        for field, schema in shape["properties"].items()
    }
    named = {"title": f"{name}{_PAYLOAD}", "description": inspect.cleandoc(shape["description"])}
    return {**shape, "properties": fields, "additionalProperties": True, **named}
