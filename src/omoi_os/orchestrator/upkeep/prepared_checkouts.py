"""Prepares checkouts for the next tasks of the projects that tasks are run for, and removes unfinished ones."""

import asyncio
from functools import partial

from omoi_os.forges.registry import NAMES, make_forge
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, takes_checkouts
from omoi_os.projects.addresses import repository_of

#: A checkout may be behind its branch by this much: what is missing is fetched by the task.
PREPARE_SECONDS = 60.0


def prepare(context: Context, work: Work) -> None:
    """Begin to prepare what the default branch is now, unless that was done a moment ago."""
    name = f"checkout {work.project.id}"
    if takes_checkouts(context.settings, work.provider) and context.watch.is_due(name, every=PREPARE_SECONDS):
        forge = make_forge(work.project.forge, context.settings)
        context.jobs.start(name, partial(forge.prepare_checkout, repository_of(work.project)))


async def remove_unfinished(context: Context) -> None:
    """Remove what an orchestrator that was killed left of repositories and checkouts that it was making."""
    for name in NAMES:
        await asyncio.to_thread(make_forge(name, context.settings).remove_unfinished)
