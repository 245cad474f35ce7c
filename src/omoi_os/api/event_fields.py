"""Descriptions of the fields of event payloads, for the OpenAPI document."""

from collections.abc import Mapping

#: The fields that mean the same in every payload.
COMMON: Mapping[str, str] = {
    "attempt": "Number of the attempt, from 1.",
    "branch_name": "The branch that the agent works on; null if it has none.",
    "commit_sha": "The commit that the agent pushed; null if it pushed none.",
    "cost_usd": "What the agent reports to have spent on model calls, in US dollars. The sandbox has the metered cost.",
    "duration_ms": "How long the call took, in milliseconds.",
    "error": "What went wrong, in one sentence.",
    "is_error": "Whether the call failed.",
    "message_id": "Id of the message.",
    "model": "The model that is used; null if the default is used.",
    "output": "What the call returned. A long output is truncated; then `output_blob` names the full output.",
    "parent_tool_use_id": "Set if a sub-agent did this: the `tool_use_id` of the call that started the sub-agent.",
    "reason": "Why it happened.",
    "session_diff": "Unified diff of everything that the session changed.",
    "session_id": "The agent's session, under which its conversation can be resumed.",
    "stop_reason": "Why the agent stopped, such as `end_turn` or `max_turns`.",
    "tokens": "How many tokens the agent reports to have used.",
    "tool": "Name of the tool, such as `Bash` or `Edit`.",
    "tool_use_id": "Id of the tool call; the events of one call have the same id.",
    "turn": "Number of the agent's turn, from 1.",
    "turns": "How many turns the agent took.",
}

_ERROR: Mapping[str, str] = {
    "conversation_lost": "The agent starts without its earlier conversation, so its messages are delivered again.",
    "error_type": "What caused the error: `sigkill`, `oom`, `model`, `network`, `tool`, `environment` or `unknown`.",
    "hint": "What to do about the error.",
    "partial_output": "The part of the reply that had arrived before the error.",
    "spool_corrupt": "This event replaces one whose bytes in the worker's spool were damaged.",
}

#: Fields of one payload, by the name of its class in `protocol.payloads`.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "AssistantMessage": {
        "error": "Why the model could not reply; null if it did.",
        "message_id": "The model's id for the reply.",
        "model": "The model that replies.",
    },
    "Completed": {
        "files_changed": "Paths of the files that the session changed.",
        "final_output": "The agent's last reply.",
        "iterations": "How many iterations the agent needed until its checks passed.",
        "success": "Whether the agent reports success. The verdict on the task is decided by its checks.",
    },
    "Failed": _ERROR,
    "FileEdited": {
        "binary": "Whether the file is binary; then it has no lines, and its diff only says that it differs.",
        "change_type": "What happened to the file: `created`, `modified`, `deleted` or `renamed`.",
        "diff_blob": "SHA-256 of the blob with the full diff; null if the diff is in the event.",
        "diff_preview": "The start of the unified diff.",
        "diff_size": "Size of the full diff in bytes.",
        "file_path": "Path of the file, relative to the repository.",
        "full_diff": "The full unified diff; null if it is large: then fetch it from `GET …/events/{event_id}/diff`.",
        "lines_added": "Number of added lines.",
        "lines_removed": "Number of removed lines.",
        "old_path": "The earlier path of a renamed file; null for other changes.",
        "size": "Size of the file in bytes.",
        "too_large": "Whether the file is too large to compute a diff.",
        "tool": "The tool that changed the file.",
        "tool_use_id": "Id of the tool call that changed the file; null if it was not a tool.",
    },
    "Heartbeat": {
        "busy": "Whether the agent or one of its processes is working.",
        "children": "Number of processes that the agent has started and that are running.",
        "current_tool": "The tool that is running; null if none is.",
        "current_tool_since": "When that tool call started; null if no tool is running.",
        "rss_mb": "Memory of the agent's processes in megabytes; null if unknown.",
        "spool_full": "Whether the agent has to wait because too many events are unsent.",
        "spooled": "Number of events that the worker has not sent yet.",
        "status": "What the agent is doing, such as `running` or `waiting`.",
    },
    "Interrupted": {
        "message_id": "The message that interrupted the turn; null if it was not a message.",
    },
    "Iteration": {
        "checks": "The checks that were run, with their exit codes and output.",
        "cost_usd": "What the attempt has spent so far, in US dollars.",
        "iteration": "Number of the iteration, from 1.",
        "max_iterations": "After this many iterations the attempt stops.",
        "notes": "What the next iteration is asked to fix; null if there is nothing.",
        "passed": "Whether every check passed.",
    },
    "MessageInjected": {
        "content": "The text of the message.",
        "message_type": "Type of the message, such as `user_message` or `interrupt`.",
        "sender": "`user:<email>`, `agent:<sandbox id>`, or the name of a part of the platform.",
    },
    "RateLimited": {
        "attempt": "Number of the retry, from 1.",
        "max_retries": "After this many retries the call fails.",
        "retry_delay_ms": "Delay before the next retry, in milliseconds.",
    },
    "AgentText": {
        "text": "The text that the model wrote.",
    },
    "Shutdown": {
        "wip_commit": "The commit with the uncommitted work, on the branch `wip/<task_id>`; null if there was none.",
    },
    "SkillInvoked": {
        "args": "The arguments of the skill.",
        "skill": "Name of the skill.",
    },
    "SpecPhase": {
        "phase": "Name of the phase, such as `requirements`.",
        "spec_id": "The spec that the phase belongs to.",
    },
    "Started": {
        "mode": "The expected result: `implementation`, `exploration` or `validation`.",
    },
    "SubagentInvoked": {
        "description": "What the sub-agent must do, in a few words.",
        "prompt": "The text that the sub-agent was given.",
        "subagent_type": "Type of the sub-agent; null if it has none.",
    },
    "SystemMessage": {
        "resumed_session_id": "The session of an earlier attempt that this one resumes.",
        "subtype": "What the message is about, such as `init`.",
        "tools": "The tools that the agent can use.",
    },
    "ToolUse": {
        "input": "The arguments of the call.",
    },
    "ErrorReport": _ERROR,
    "UserToolResult": {
        "content": "The start of the tool's output, as the model gets it.",
        "size": "Size of the whole output in bytes.",
    },
    "Waiting": {
        "linger_seconds": "How long the worker waits for further messages before it ends.",
    },
}


def describe(payload: str, field: str) -> str:
    """Return the description of a payload's field; an empty one if it is missing."""
    return FIELDS.get(payload, {}).get(field) or COMMON.get(field, "")
