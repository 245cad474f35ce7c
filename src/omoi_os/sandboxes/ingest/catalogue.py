"""The catalogue of events: which types are known and what they carry.

An event of an unknown type is stored as it is and marked as unknown.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from omoi_os.protocol.events import KNOWN_TYPES
from omoi_os.protocol.payloads import PAYLOADS


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
