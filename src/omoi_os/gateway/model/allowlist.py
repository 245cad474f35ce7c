"""The fields, tools, content blocks and betas of the Messages API that a sandbox may use.

Nothing here lets the model's host fetch, run or call anything. The features that do are listed by name; a project
allows them with `settings.model_features`.
"""

import re
from dataclasses import dataclass

from omoi_os.projects.model_features import ModelFeature

FIELDS = frozenset(
    {
        "model",
        "messages",
        "system",
        "max_tokens",
        "metadata",
        "stop_sequences",
        "stream",
        "temperature",
        "top_k",
        "top_p",
        "tools",
        "tool_choice",
        "thinking",
        "context_management",
        "output_config",
        "output_format",
        "cache_control",
    }
)

#: Fields that hold an object, with the keys that are passed on.
OBJECT_FIELDS = {
    "metadata": {"user_id"},
    "tool_choice": {"type", "name", "disable_parallel_tool_use"},
    "thinking": {"type", "budget_tokens", "display"},
    "output_config": {"effort", "format", "task_budget"},
    "output_format": {"type", "schema", "name"},
    "cache_control": {"type", "ttl", "scope"},
}

CONTEXT_EDITS = re.compile(r"clear_(tool_uses|thinking)_\d{8}")

#: Tools that the sandbox runs itself, and the search among the tools of the request.
TOOLS = re.compile(r"custom|(bash|text_editor|computer|memory|tool_search_tool_(regex|bm25))(_\d{8})?")
TOOL_KEYS = frozenset(
    {
        "type",
        "name",
        "description",
        "input_schema",
        "input_examples",
        "cache_control",
        "strict",
        "defer_loading",
        "eager_input_streaming",
        "max_characters",
        "display_width_px",
        "display_height_px",
        "display_number",
        "enable_zoom",
    }
)

#: The content blocks of a conversation, with the keys that are passed on.
BLOCKS = {
    "text": {"text", "citations", "cache_control"},
    "image": {"source", "cache_control"},
    "document": {"source", "title", "context", "citations", "cache_control"},
    "search_result": {"source", "title", "content", "citations", "cache_control"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input", "caller", "cache_control"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "tool_reference": {"name", "tool_name", "cache_control"},
    "tool_addition": {"tool", "cache_control"},
    "tool_removal": {"tool", "cache_control"},
    "tool_search_tool_result": {"tool_use_id", "content", "cache_control"},
}
#: The names of server tools whose calls may be in a conversation.
SERVER_TOOLS = re.compile(r"tool_search_tool_\w+")
SERVER_TOOL_USE_KEYS = frozenset({"id", "name", "input", "caller", "cache_control"})
RESULT_KEYS = frozenset({"tool_use_id", "content", "is_error", "cache_control"})

#: Where the data of an image or document comes from, with the keys that are passed on.
SOURCES = {"base64": {"media_type", "data"}, "text": {"media_type", "data"}, "content": {"content"}}

BETAS = re.compile(
    "(claude-code|interleaved-thinking|context-management|mid-conversation-tool-changes|mid-conversation-system"
    "|thinking-token-count|thinking-display-updates|thinking-resumption|redact-thinking|effort|structured-outputs"
    "|fine-grained-tool-streaming|token-counting|token-efficient-tools|prompt-caching|prompt-caching-scope"
    "|extended-cache-ttl|tool-search-tool|advanced-tool-use|tool-examples|task-budgets|computer-use"
    r"|dev-full-thinking)-\d{4}-?\d{2}-?\d{2}"
)


@dataclass(frozen=True, slots=True)
class Grant:
    """What one feature adds. The patterns match whole names."""

    tools: str = ""
    #: Blocks that hold the result of such a tool.
    results: str = ""
    blocks: tuple[tuple[str, frozenset[str]], ...] = ()
    sources: tuple[tuple[str, frozenset[str]], ...] = ()
    fields: frozenset[str] = frozenset()
    betas: str = ""
    tool_keys: frozenset[str] = frozenset()


_WEB_KEYS = frozenset({"allowed_domains", "blocked_domains", "max_uses", "user_location", "citations"})

GRANTS = {
    ModelFeature.WEB_SEARCH: Grant(
        tools=r"web_search_\d{8}", results="web_search_tool_result", betas="web-search", tool_keys=_WEB_KEYS
    ),
    ModelFeature.WEB_FETCH: Grant(
        tools=r"web_fetch_\d{8}",
        results="web_fetch_tool_result",
        betas="web-fetch",
        tool_keys=_WEB_KEYS | {"max_content_tokens"},
    ),
    ModelFeature.CODE_EXECUTION: Grant(
        tools=r"code_execution_\d{8}",
        results=r"(bash_|text_editor_)?code_execution_tool_result",
        fields=frozenset({"container"}),
        betas="code-execution",
        tool_keys=frozenset({"allowed_callers"}),
    ),
    ModelFeature.SKILLS: Grant(fields=frozenset({"container"}), betas="skills"),
    ModelFeature.URL_SOURCES: Grant(sources=(("url", frozenset({"url"})),)),
    ModelFeature.FILE_SOURCES: Grant(
        sources=(("file", frozenset({"file_id"})),),
        blocks=(("container_upload", frozenset({"file_id", "cache_control"})),),
        betas="files-api",
    ),
    ModelFeature.MCP: Grant(
        tools="mcp_toolset",
        results="mcp_tool_result",
        blocks=(("mcp_tool_use", frozenset({"id", "name", "server_name", "input", "cache_control"})),),
        fields=frozenset({"mcp_servers"}),
        betas="mcp-client",
        tool_keys=frozenset({"mcp_server_name", "default_config", "configs"}),
    ),
}
