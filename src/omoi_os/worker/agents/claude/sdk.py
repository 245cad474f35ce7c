"""The Claude Agent SDK, imported without the packages that only in-process MCP servers need."""

from omoi_os.worker.agents.claude.lazy_imports import deferred

with deferred():
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeAgentOptions,
        ClaudeSDKClient,
        CLIConnectionError,
        HookContext,
        HookInput,
        HookJSONOutput,
        HookMatcher,
        Message,
        ProcessError,
        RateLimitEvent,
        ResultMessage,
        StreamEvent,
        SystemMessage,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        UserMessage,
    )
    from claude_agent_sdk.types import HookEvent, SyncHookJSONOutput

__all__ = [
    "AssistantMessage",
    "CLIConnectionError",
    "ClaudeAgentOptions",
    "ClaudeSDKClient",
    "HookContext",
    "HookEvent",
    "HookInput",
    "HookJSONOutput",
    "HookMatcher",
    "Message",
    "ProcessError",
    "RateLimitEvent",
    "ResultMessage",
    "StreamEvent",
    "SyncHookJSONOutput",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UserMessage",
]
