"""The base of the models of responses."""

from pydantic import BaseModel, ConfigDict


class Shown(BaseModel):
    """A model of a response. Fields with a default are always sent, so the schema lists them as required."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)
