"""Judgements: answers to structured-output requests."""

import json
from collections.abc import Mapping
from typing import Any

from omoi_os.scripted_model.player import Reply
from omoi_os.scripted_model.scripts import Library


def wanted_schema(request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the output format that a request asks for, or None."""
    config = request.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    return wanted if isinstance(wanted, dict) and wanted.get("type") == "json_schema" else None


def schema_name(wanted: Mapping[str, Any]) -> str:
    """Return the format's name, else its schema's title: the Messages API has no field for it."""
    schema = wanted.get("schema")
    return str(wanted.get("name") or (schema.get("title") if isinstance(schema, dict) else None) or "")


def choose_judgement(library: Library, wanted: Mapping[str, Any], *, task: str) -> Reply | None:
    """Return the scripted answer. The agent's requests for a session title need no script."""
    answer = library.find_judgement(schema_name(wanted), task)
    if answer is None and _asks_for_a_title(wanted):
        answer = {"title": " ".join(task.split())[:60] or "Untitled"}
    return None if answer is None else Reply(text=json.dumps(answer))


def _asks_for_a_title(wanted: Mapping[str, Any]) -> bool:
    schema = wanted.get("schema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and list(properties) == ["title"]
