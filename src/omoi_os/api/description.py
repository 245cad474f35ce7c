"""`/openapi.json`: FastAPI's document, plus the schemas of problems and events and descriptions of every success."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from omoi_os.api import event_shapes
from omoi_os.http.problems import Problem

#: FastAPI's description of the success of every route that does not describe it.
_FASTAPI_SUCCESS = "Successful Response"
_NO_BODY = "Done. The response has no body."
_ACCEPTED = "Accepted; the orchestrator carries it out."
_REFERENCE = "#/components/schemas/{model}"


def of(app: FastAPI) -> dict[str, Any]:
    """Return the document, created on first use."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = schema["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template=_REFERENCE)
        schemas |= {**problem.pop("$defs"), "Problem": problem}
        schemas |= event_shapes.components(schemas["EventOut"])
        for page in ("EventPage", "Trajectory"):
            schemas[page]["properties"]["items"]["items"] = {"$ref": event_shapes.REFERENCE}
        for operations in schema["paths"].values():
            for operation in operations.values():
                _describe_success(operation["responses"], schemas)
        app.openapi_schema = schema
    return app.openapi_schema


def _describe_success(responses: dict[str, Any], schemas: Mapping[str, Any]) -> None:
    """Replace FastAPI's description of a success by the description of the schema that is returned."""
    for status, response in responses.items():
        if response["description"] == _FASTAPI_SUCCESS:
            content = response.get("content", {}).get("application/json")
            returned = _described(content["schema"], schemas) if content else _NO_BODY
            response["description"] = f"{_ACCEPTED} {returned}" if status == "202" else returned


def _described(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    text: str = schemas[schema["$ref"].rpartition("/")[2]]["description"]
    return text.split("\n\n")[0]
