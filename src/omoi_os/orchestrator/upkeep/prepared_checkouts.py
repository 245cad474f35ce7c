"""Prepares checkouts for the next tasks of the projects that have just had one, and removes unfinished ones."""

import asyncio
from functools import partial

from omoi_os.forges import mirrors
from omoi_os.forges.registry import make_mirrors
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.dispatch.assignments import Work, takes_checkouts
from omoi_os.projects.addresses import repository_of

#: A checkout may be this far behind its branch: the task fetches what is missing.
PREPARE_SECONDS = 60.0


def prepare(context: Context, work: Work) -> None:
    """Start preparing a checkout of the project's default branch, unless that was done a moment ago."""
    name = f"checkout {work.project.id}"
    if takes_checkouts(context.settings, work.provider) and context.timers.is_due(name, every=PREPARE_SECONDS):
        found = make_mirrors(work.project.forge, context.settings)
        context.jobs.start(name, partial(found.prepare_checkout, repository_of(work.project)))


async def remove_unfinished(context: Context) -> None:
    """Remove what a killed orchestrator left of mirrors and checkouts that it was creating."""
    await asyncio.to_thread(mirrors.remove_unfinished, context.settings.repositories_dir)
