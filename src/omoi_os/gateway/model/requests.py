"""Parses requests for the model strictly and reduces them to the allow-list."""

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from pydantic_core import from_json

from omoi_os.errors import RequestError
from omoi_os.gateway.model import allowlist as allowed
from omoi_os.projects.model_features import ModelFeature
from omoi_os.strict_json import MAX_PARTS, has_too_many_parts

#: Blocks nest in tool results and documents, never deeper than this.
_MAX_BLOCK_DEPTH = 8

Object = dict[str, Any]


def read_request(raw: bytes) -> Object:
    """Parse a request body.

    Raises `RequestError` when it is not one JSON object in UTF-8 that every parser reads alike: a repeated key,
    NaN, a lone surrogate, nesting deeper than 200 or a number out of range is refused. So are too many values:
    building them would block other sandboxes.
    """
    if has_too_many_parts(raw):
        raise RequestError(f"the body has more than {MAX_PARTS} values")
    try:
        # Checks encoding, depth and numbers, but accepts repeated keys. The second pass finds those.
        from_json(raw, allow_inf_nan=False)
        content = json.loads(raw.decode(), object_pairs_hook=_unique)
    except _RepeatedKey as error:
        raise RequestError(f"the body repeats the key {error.key[:100]!r} in one object") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RequestError("the body must be a JSON object in UTF-8")
    return content


def write_request(content: Object) -> bytes:
    """Serialise a request. Raises `RequestError` for a number that is too large for JSON."""
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        raise RequestError("the body has a number out of range") from None


def filter_betas(values: Iterable[str], features: Collection[str]) -> str:
    """Return the betas of `anthropic-beta` headers that may be passed on, as one value."""
    granted = [grant.betas for name, grant in allowed.GRANTS.items() if name in features and grant.betas]
    more = re.compile(rf"({'|'.join(granted)})-\d{{4}}-\d{{2}}-\d{{2}}") if granted else None
    names = [name.strip() for value in values for name in value.split(",")]
    return ",".join(name for name in names if allowed.BETAS.fullmatch(name) or (more and more.fullmatch(name)))


class _RepeatedKey(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RepeatedKey(key)
            seen.add(key)
    return found


class Reducer:
    """Reduces requests to the allow-list plus the features that a project allows.

    Unknown fields are dropped: the model's host never sees them, and a newer agent keeps working. An unknown
    tool, content block or source is refused, since leaving it out would change the conversation.
    """

    def __init__(self, features: Collection[str]) -> None:
        grants = [grant for name, grant in allowed.GRANTS.items() if name in features]
        self._features = frozenset(features)
        self._fields = allowed.FIELDS.union(*(grant.fields for grant in grants))
        self._tool_keys = allowed.TOOL_KEYS.union(*(grant.tool_keys for grant in grants))
        self._tools = re.compile("|".join(["(?!)"] + [grant.tools for grant in grants if grant.tools]))
        self._results = re.compile("|".join(["(?!)"] + [grant.results for grant in grants if grant.results]))
        self._blocks: dict[str, Collection[str]] = dict(allowed.BLOCKS)
        self._sources: dict[str, Collection[str]] = dict(allowed.SOURCES)
        for grant in grants:
            self._blocks.update(grant.blocks)
            self._sources.update(grant.sources)

    def reduce(self, content: Object) -> Object:
        """Return the reduced request. Raises `RequestError` with a message for the agent."""
        for name, feature in (("mcp_servers", "mcp"), ("container", "code_execution")):
            if content.get(name) and name not in self._fields:
                raise _refused(f"the field {name}", feature)
        reduced = {name: value for name, value in content.items() if name in self._fields}
        for name, keys in allowed.OBJECT_FIELDS.items():
            if reduced.get(name) is not None:
                reduced[name] = _kept(reduced[name], keys)
        if "container" in reduced:
            reduced["container"] = self._container(reduced["container"])
        if reduced.get("context_management") is not None:
            reduced["context_management"] = _context_management(reduced["context_management"])
        if reduced.get("tools") is not None:
            reduced["tools"] = [self._tool(tool) for tool in _list(reduced["tools"], "tools")]
        if "system" in reduced:
            reduced["system"] = self._content(reduced["system"], "system")
        reduced["messages"] = [self._message(message) for message in _list(content.get("messages"), "messages")]
        return reduced

    def _message(self, message: object) -> Object:
        kept = _kept(message, {"role", "content"})
        if kept.get("role") not in ("user", "assistant", "system"):
            raise RequestError("the role of a message must be user, assistant or system")
        return kept | {"content": self._content(kept.get("content"), "content")}

    def _content(self, content: object, name: str, depth: int = 0) -> object:
        """Reduce a text or a list of blocks."""
        if content is None or isinstance(content, str):
            return content
        return [self._block(block, depth) for block in _list(content, name)]

    def _block(self, block: object, depth: int) -> Object:
        if not isinstance(block, dict) or depth > _MAX_BLOCK_DEPTH:
            raise RequestError("content must be a string or a list of blocks")
        kind = block.get("type")
        keys = self._block_keys(kind, block)
        kept = _kept(block, {"type", *keys})
        if kind in ("image", "document"):
            kept["source"] = self._source(kept.get("source"), depth)
        elif kind in ("tool_result", "search_result"):
            if not isinstance(kept.get("source", ""), str):
                raise RequestError("the source of a search_result must be a string")
            if "content" in kept:
                kept["content"] = self._content(kept["content"], "content", depth + 1)
        elif kind in ("tool_addition", "tool_removal"):
            kept["tool"] = self._changed_tool(kept.get("tool"))
        if kept.get("cache_control") is not None:
            kept["cache_control"] = _kept(kept["cache_control"], allowed.OBJECT_FIELDS["cache_control"])
        return kept

    def _block_keys(self, kind: object, block: Object) -> Collection[str]:
        if not isinstance(kind, str):
            raise RequestError("a content block must have a type")
        if kind in self._blocks:
            return self._blocks[kind]
        if self._results.fullmatch(kind):
            return allowed.RESULT_KEYS
        if kind == "server_tool_use" and self._server_tool(block.get("name")):
            return allowed.SERVER_TOOL_USE_KEYS
        hint = f"{block.get('name')}_tool_result" if kind == "server_tool_use" else kind
        raise _refused(f"content blocks of type {kind[:100]!r}", _feature_of_block(hint))

    def _server_tool(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return bool(allowed.SERVER_TOOLS.fullmatch(name) or self._results.fullmatch(f"{name}_tool_result"))

    def _source(self, source: object, depth: int) -> Object:
        kind = source.get("type") if isinstance(source, dict) else None
        if not isinstance(kind, str):
            raise RequestError("the source of an image or document must have a type")
        if kind not in self._sources:
            raise _refused(f"sources of type {kind[:100]!r}", {"url": "url_sources", "file": "file_sources"}.get(kind))
        kept = _kept(source, {"type", *self._sources[kind]})
        if kind == "content":
            kept["content"] = self._content(kept.get("content"), "content", depth + 1)
        return kept

    def _changed_tool(self, tool: object) -> Object:
        """Reduce the tool that a message adds or removes in the middle of a conversation."""
        kept = _kept(tool, {"type", "name", "tool_name", "definition"})
        if kept.get("type") == "tool_definition":
            return kept | {"definition": self._tool(kept.get("definition"))}
        if kept.get("type") == "tool_reference" and "definition" not in kept:
            return kept
        raise RequestError("a tool that is added or removed must be a tool_reference or a tool_definition")

    def _tool(self, tool: object) -> Object:
        kept = _kept(tool, self._tool_keys)
        if kept.get("cache_control") is not None:
            kept["cache_control"] = _kept(kept["cache_control"], allowed.OBJECT_FIELDS["cache_control"])
        kind = kept.get("type")
        if kind is not None and not isinstance(kind, str):
            raise RequestError("the type of a tool must be a string")
        if kind is None or allowed.TOOLS.fullmatch(kind):
            return kept
        if not self._tools.fullmatch(kind):
            raise _refused(f"tools of type {kind[:100]!r}", _feature_of_tool(kind))
        return kept

    def _container(self, container: object) -> object:
        """Reduce the container that runs code: its id, or an object that may list skills."""
        if container is None or isinstance(container, str):
            return container
        kept = _kept(container, {"id", "skills"})
        if kept.get("skills") and ModelFeature.SKILLS not in self._features:
            raise _refused("skills", ModelFeature.SKILLS)
        return kept


def _context_management(value: object) -> Object:
    edits = _list(_kept(value, {"edits"}).get("edits", []), "context_management.edits")
    kinds = [(edit, edit.get("type")) for edit in edits if isinstance(edit, dict)]
    return {"edits": [edit for edit, kind in kinds if isinstance(kind, str) and allowed.CONTEXT_EDITS.fullmatch(kind)]}


def _kept(value: object, keys: Collection[str]) -> Object:
    """Return the object with only these keys."""
    if not isinstance(value, dict):
        raise RequestError("the body does not have the form of a Messages API request")
    return {key: item for key, item in value.items() if key in keys}


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise RequestError(f"{name} must be a list")
    return value


def _refused(what: str, feature: str | None) -> RequestError:
    remedy = f"; the project's owner can allow it with {feature} in settings.model_features" if feature else ""
    return RequestError(f"A sandbox may not use {what} of the model's host{remedy}.")


def _feature_of_tool(kind: str) -> str | None:
    for name, grant in allowed.GRANTS.items():
        if grant.tools and re.fullmatch(grant.tools, kind):
            return name
    return None


def _feature_of_block(kind: str) -> str | None:
    for name, grant in allowed.GRANTS.items():
        if kind in dict(grant.blocks) or (grant.results and re.fullmatch(grant.results, kind)):
            return name
    return None
