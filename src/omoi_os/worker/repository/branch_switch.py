"""Switch a prepared checkout, which has the files of some commit, to the task's branch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from omoi_os.protocol.assignment import Assignment

if TYPE_CHECKING:
    from omoi_os.worker.repository.git import Repository

FETCH_SECONDS = 900.0

_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tcheckstat = minimal
[user]
\tname = {author}
\temail = {email}
[remote "origin"]
\turl = {url}
\tfetch = {fetched}
[branch {branch}]
\tremote = origin
\tmerge = {merged}
"""


async def switch(repository: Repository, *, author: str, email: str) -> None:
    """Fetch the task's branch and switch to it. Raises `FileNotFoundError` if nothing is prepared, or `GitError`."""
    marker = repository.paths.prepared_file
    commit = marker.read_text()
    # After an interruption from here on, the next worker clones instead.
    marker.unlink()
    config = repository.workspace / ".git" / "config"
    config.write_text(_config(repository.assignment, author=author, email=email))
    await repository.run("fetch", "--quiet", "origin", timeout=FETCH_SECONDS)
    name = repository.assignment.branch_name
    pushed = await repository.run("rev-parse", "--verify", f"refs/remotes/origin/{name}")
    if pushed == commit:
        # The files are right already, and a checkout would inspect every one.
        await repository.run("update-ref", f"refs/heads/{name}", pushed)
        await repository.run("symbolic-ref", "HEAD", f"refs/heads/{name}")
    else:
        switching = ("checkout", "--quiet", "--force", "--no-track", "-B", name, pushed)
        await repository.run(*switching, timeout=FETCH_SECONDS)


def _config(assignment: Assignment, *, author: str, email: str) -> str:
    """Return the config that a clone of this branch has.

    The index was written while the files had another owner. `checkstat` keeps git from reading each of them again.
    """
    branch = assignment.branch_name
    texts = {
        "url": assignment.git_url,
        "fetched": f"+refs/heads/{branch}:refs/remotes/origin/{branch}",
        "branch": branch,
        "merged": f"refs/heads/{branch}",
        "author": author,
        "email": email,
    }
    return _CONFIG.format(**{name: json.dumps(text, ensure_ascii=False) for name, text in texts.items()})
