"""What answers have in common."""

from pydantic import BaseModel, ConfigDict


class Shown(BaseModel):
    """A part of an answer. A field with a default is always there, and is described so."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)
