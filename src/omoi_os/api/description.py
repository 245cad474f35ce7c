"""`/openapi.json`: FastAPI's document, plus the schemas of problems and events."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from omoi_os.api import event_shapes
from omoi_os.http.problems import Problem

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
        app.openapi_schema = schema
    return app.openapi_schema
