"""The schemas of events in `openapi.json`."""

import json
import re

from omoi_os.api.event_shapes import components
from omoi_os.protocol.events import EventType
from omoi_os.protocol.payloads import PAYLOADS
from omoi_os.sandboxes.schemas import EventOut

SHAPES = components(EventOut.model_json_schema(mode="serialization"))


def test_every_type_of_event_has_a_shape_that_its_type_leads_to() -> None:
    mapping = SHAPES["AgentEvent"]["discriminator"]["mapping"]

    assert set(mapping) == set(EventType)
    assert {option["$ref"] for option in SHAPES["AgentEvent"]["oneOf"]} == set(mapping.values())
    for kind, place in mapping.items():
        fields = SHAPES[place.rpartition("/")[2]]["properties"]
        assert (fields["event_type"]["const"], fields["known"]["const"]) == (kind, True)
        assert ("$ref" in fields["event_data"]) == (kind in PAYLOADS)


def test_an_event_of_an_unknown_type_is_told_apart_by_that() -> None:
    unknown = SHAPES["UnknownEvent"]

    assert unknown["properties"]["known"]["const"] is False
    assert unknown["properties"]["event_type"]["type"] == "string"
    assert "const" not in unknown["properties"]["event_type"]
    assert len(SHAPES["SandboxEvent"]["anyOf"]) == 2


def test_every_field_of_an_event_is_there_and_its_payload_may_have_others() -> None:
    edited = SHAPES["AgentFileEditedEvent"]
    payload = SHAPES["FileEditedPayload"]

    assert set(edited["required"]) == set(EventOut.model_fields) | {"known"}
    assert (payload["required"], payload["additionalProperties"]) == ([], True)
    assert {"file_path", "change_type", "turn"} <= set(payload["properties"])


def test_every_reference_leads_to_a_shape() -> None:
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(SHAPES)))

    assert named <= set(SHAPES)
