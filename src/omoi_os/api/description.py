"""`openapi.json`: FastAPI's description, plus the shapes that it cannot know of."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from omoi_os.http.problems import Problem
from omoi_os.sandboxes.ingest import catalogue

_REFERENCE = "#/components/schemas/{model}"


def of(app: FastAPI) -> dict[str, Any]:
    """The description, made when it is first asked for."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas = schema["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template=_REFERENCE)
        schemas |= {**problem.pop("$defs"), "Problem": problem}
        schemas |= catalogue.schemas(schemas["EventOut"])
        for page in ("EventPage", "Trajectory"):
            schemas[page]["properties"]["items"]["items"] = {"$ref": catalogue.REFERENCE}
        app.openapi_schema = schema
    return app.openapi_schema
