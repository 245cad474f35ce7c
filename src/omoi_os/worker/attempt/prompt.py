"""The prompts for the agent, from the assignment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from omoi_os.protocol.assignment import NOT_ACCEPTED, Assignment, ExecutionMode
from omoi_os.worker.attempt.checks import describe
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.http import HttpError

TASK_TRIES = 10


async def with_description(assignment: Assignment, api: Api) -> Assignment:
    """Return the assignment with its description, fetched if it was too long for a variable. Raises `HttpError`."""
    for number in range(1, TASK_TRIES + 1):
        if assignment.description is not None:
            break
        try:
            task = await api.get_task()
            assignment = replace(assignment, description=str(task.get("description") or ""))
        except HttpError:
            if number == TASK_TRIES:
                raise
            await asyncio.sleep(min(5.0, 0.2 * 2**number))
    return assignment


def prompt(assignment: Assignment, found: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Return the first prompt. The assignment must have its description; `found` are results of its checks."""
    parts = [f"# {assignment.title}", assignment.description or ""]
    if found:
        parts.append(f"These are the results of the acceptance commands:\n\n{describe(found)}")
    elif assignment.acceptance:
        commands = "\n".join(f"- `{command}`" for command in assignment.acceptance)
        parts.append(f"The work is accepted when each of these commands exits with 0:\n{commands}")
    if assignment.feedback:
        parts.append(f"{NOT_ACCEPTED} {assignment.feedback}")
    return "\n\n".join(part for part in parts if part)


def resumed_prompt(assignment: Assignment) -> str:
    """Return the first prompt of a resumed conversation, which contains the task already."""
    parts = [f"{NOT_ACCEPTED} {assignment.feedback}"] if assignment.feedback else []
    parts.append(
        f"This is a new attempt at the task “{assignment.title}”, in a new sandbox. Your files are as they were last "
        "saved, and none of your processes is running. Check the current state, then continue until the task is done."
    )
    return "\n\n".join(parts)


def guidance(assignment: Assignment, *, notes: Path) -> str:
    """Return the addition to the system prompt: how work is done here."""
    parts = [
        f"You work alone in a sandbox, on the git branch {assignment.branch_name}. Nobody can answer questions.",
        "People may send you messages while you work, in texts that start with [message …]. Follow them.",
        "If the repository has a CLAUDE.md or an AGENTS.md, read it first.",
    ]
    if assignment.mode == ExecutionMode.IMPLEMENTATION:
        parts.append("Do not push: when you are done, your changes are committed and pushed for you.")
        parts.append(f"Keep notes of your findings and open points in {notes}: you will see them in later iterations.")
    else:
        parts.append("Do not change files. Your last message is your report.")
    if assignment.acceptance and assignment.mode == ExecutionMode.IMPLEMENTATION:
        parts.append("The acceptance commands in the task must pass: run them before you finish.")
    return "\n".join(parts)
