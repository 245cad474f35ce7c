"""The catalogue of events at the edge: what is known is checked, what is unknown is kept and marked."""

from collections.abc import Mapping
from typing import Any

import msgspec

from omoi_os.protocol.events import KNOWN_TYPES
from omoi_os.protocol.payloads import PAYLOADS


def is_known(event_type: str) -> bool:
    """Whether the platform knows what this type means."""
    return event_type in KNOWN_TYPES


def complaint(event_type: str, event_data: Mapping[str, Any]) -> str | None:
    """What is wrong with a known event's payload, in one line; None when nothing is."""
    payload = PAYLOADS.get(event_type)
    if payload is None:
        return None
    try:
        msgspec.convert(event_data, payload, strict=True)
    except msgspec.ValidationError as error:
        return f"event_data: {str(error).replace('`', '')}"
    return None
