"""List the files that a change's checks depend on and that the change itself modified."""

import logging
from collections.abc import Sequence

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import changes
from omoi_os.forges.registry import make_mirrors
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.verification.check_runs import Subject
from omoi_os.projects.addresses import repository_of
from omoi_os.tasks.check_files import is_check_file, named_in

log = logging.getLogger(__name__)

#: How many files are listed, and the length to which a path is truncated.
MAX_LISTED = 200
_MAX_PATH = 300
#: The last entry of an incomplete list.
INCOMPLETE = "… (more files changed than are listed)"


async def changed_checks(context: Context, subject: Subject) -> list[str]:
    """Return the tests, build and CI files that differ between the base and the commit, sorted.

    A file that a check names counts if it existed before; a file that the change adds is the work to be checked. Git
    reads the bare repository from outside; no code of the change is run.
    """
    mirror = make_mirrors(subject.project.forge, context.settings).find(repository_of(subject.project))
    if mirror is None or not subject.commit:
        return []
    named = named_in(subject.commands)
    found: list[str] = []
    try:
        base = await changes.base_of(mirror, subject.commit, branch=subject.project.default_branch)
        async for status, path in changes.changed_paths(mirror, base, subject.commit):
            if is_check_file(path) or (status != "A" and path in named):
                found.append(path)
            if len(found) > MAX_LISTED:
                break
    except ForgeError as error:
        log.info("the files that task %s changed could not all be listed: %s", subject.task.id, error)
        return [*_shown(context, found[: MAX_LISTED - 1]), INCOMPLETE]
    is_whole = len(found) <= MAX_LISTED
    return _shown(context, found) if is_whole else [*_shown(context, found[: MAX_LISTED - 1]), INCOMPLETE]


def _shown(context: Context, paths: Sequence[str]) -> list[str]:
    return [context.masker.mask_text(path[:_MAX_PATH]) for path in sorted(paths)]
