"""Decides which refs a sandbox may push to."""

from omoi_os.forges.smart_http.push_commands import Push
from omoi_os.gateway.callers import Caller
from omoi_os.sandboxes.lifecycle import Purpose


def may_push(caller: Caller) -> bool:
    """Return whether a sandbox of this purpose may push."""
    return caller.purpose is Purpose.WORK


def why_not(push: Push, caller: Caller) -> str | None:
    """Return the reason to refuse the whole push, or None."""
    own = {_head(caller.wip)} | ({_head(caller.branch)} if caller.branch else set())
    for command in push.commands:
        if command.ref not in own:
            return f"this sandbox may push only to {' and '.join(sorted(own))}"
        if _is_default(command.ref, caller):
            return f"a sandbox may not push to the default branch, {caller.repository.default_branch}"
        if command.deletes:
            return "a sandbox may not delete branches"
    return None


def _is_default(ref: str, caller: Caller) -> bool:
    """Return whether a ref is the default branch, in any case: some file systems ignore it."""
    return ref.lower() == _head(caller.repository.default_branch).lower()


def new_head(push: Push, caller: Caller) -> str | None:
    """Return the commit that the push moves the task's branch to, or None if it does not move it."""
    own = _head(caller.branch or "")
    return next((command.new for command in push.commands if command.ref == own), None)


def may_rewrite(push: Push, caller: Caller) -> bool:
    """Return whether history may be replaced: only on the branch for unfinished work."""
    return all(command.ref == _head(caller.wip) for command in push.commands)


def _head(branch: str) -> str:
    return f"refs/heads/{branch}"
