"""The Claude Agent SDK, without the packages that only its in-process MCP servers need."""

from omoi_os.worker.deferred import deferred

with deferred():
    from claude_agent_sdk import (
        AssistantMessage,
        ClaudeAgentOptions,
        ClaudeSDKClient,
        CLIConnectionError,
        Message,
        ProcessError,
        RateLimitEvent,
        ResultMessage,
        SystemMessage,
        TextBlock,
        ThinkingBlock,
        ToolResultBlock,
        ToolUseBlock,
        UserMessage,
    )

__all__ = [
    "AssistantMessage",
    "CLIConnectionError",
    "ClaudeAgentOptions",
    "ClaudeSDKClient",
    "Message",
    "ProcessError",
    "RateLimitEvent",
    "ResultMessage",
    "SystemMessage",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UserMessage",
]
