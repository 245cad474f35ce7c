"""Decides which refs a person may push, and records each one that moves."""

import re
from collections.abc import Sequence

from sqlalchemy.exc import SQLAlchemyError

from omoi_os.api.git.callers import Caller
from omoi_os.audit.models import AuditKind
from omoi_os.audit.trail import record_action
from omoi_os.db.base import Sessions
from omoi_os.forges.bare.refs import BRANCHES, PLATFORM_REFS
from omoi_os.forges.branches import wip_branch
from omoi_os.forges.smart_http.push_commands import Push
from omoi_os.forges.smart_http.ref_guard import Decide, RefUpdate
from omoi_os.tasks import repository as tasks
from omoi_os.tasks.repository import ActiveBranch

_TAGS = "refs/tags/"
#: What git accepts as the name of a branch or tag, except that no name starts with `-` or is not UTF-8.
_REFUSED_CHARACTERS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ufffd]")


def why_not(push: Push, *, default_branch: str) -> str | None:
    """Return the reason to refuse the whole push by the names of its refs, or None."""
    for command in push.commands:
        if command.ref.startswith(f"{PLATFORM_REFS}/"):
            return f"refs below {PLATFORM_REFS} belong to the platform"
        if not _is_branch_or_tag(command.ref):
            return "only branches and tags can be pushed, with names that git accepts"
        if command.deletes and is_default(command.ref, default_branch):
            return f"the default branch, {default_branch}, cannot be deleted"
    return None


def is_default(ref: str, default_branch: str) -> bool:
    """Return whether a ref is the default branch, in any case: some file systems ignore it."""
    return ref.lower() == f"{BRANCHES}{default_branch}".lower()


async def why_closed(sessions: Sessions, caller: Caller, refs: Sequence[str]) -> str | None:
    """Return why one of these refs may not move now, or None. Always reads the database."""
    async with sessions() as session:
        active = await tasks.active_branches(session, caller.project.id)
    return _occupied(refs, active)


def recorded_moves(sessions: Sessions, caller: Caller) -> Decide:
    """Return the decision on the refs of a person's push: a ref moves only if no task works on it.

    Each ref that moves is in the audit trail first, so that no push is missing there.
    """
    seen: set[RefUpdate] = set()

    async def decide(updates: Sequence[RefUpdate]) -> str | None:
        try:
            async with sessions.begin() as session:
                active = await tasks.active_branches(session, caller.project.id)
                if (reason := _occupied([update.ref for update in updates], active)) is not None:
                    return reason
                for update in updates:
                    # Git also logs the update of the default branch for HEAD.
                    if update not in seen and update.ref != "HEAD":
                        await record_action(
                            session,
                            caller.user.email,
                            AuditKind.REF_PUSHED,
                            subject=update.ref,
                            detail=f"project {caller.project.id}: {update.old} -> {update.new}",
                        )
        except (SQLAlchemyError, OSError):
            return "the platform's database does not respond; push again"
        # Git asks twice about a ref that it deletes.
        seen.update(updates)
        return None

    return decide


def _occupied(refs: Sequence[str], active: Sequence[ActiveBranch]) -> str | None:
    """Return one sentence on the first ref that a task works on."""
    for branch in active:
        for ref in refs:
            name = ref.removeprefix(BRANCHES).lower()
            if name == (branch.name or "").lower() or _is_wip(name, branch):
                return (
                    f"{ref} is the branch of task {branch.task_id}, which is {branch.status}: "
                    "wait until the task has ended, or push to another branch"
                )
    return None


def _is_wip(name: str, branch: ActiveBranch) -> bool:
    wip = wip_branch(branch.task_id)
    return name == wip or name.startswith(f"{wip}-")


def _is_branch_or_tag(ref: str) -> bool:
    """Return whether a ref can be a branch or tag. Its name becomes a path, so it must not lead out of the folder."""
    prefix = next((prefix for prefix in (BRANCHES, _TAGS) if ref.startswith(prefix)), None)
    if prefix is None or _REFUSED_CHARACTERS.search(ref) or ".." in ref or "@{" in ref:
        return False
    parts = ref.removeprefix(prefix).split("/")
    return all(part and not part.startswith((".", "-")) and not part.endswith((".", ".lock")) for part in parts)
