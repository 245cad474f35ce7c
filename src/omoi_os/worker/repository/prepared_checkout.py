"""A prepared checkout: the workspace begins with the files of some commit, and the task's branch is still to come."""

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
    """Fetch the task's branch and switch to it. Raises `FileNotFoundError` if nothing was prepared, and `GitError`."""
    marker = repository.paths.prepared_file
    commit = marker.read_text()
    # What is interrupted from here on is not taken up again.
    marker.unlink()
    config = repository.workspace / ".git" / "config"
    config.write_text(_config(repository.assignment, author=author, email=email))
    await repository.run("fetch", "--quiet", "origin", timeout=FETCH_SECONDS)
    name = repository.assignment.branch_name
    pushed = await repository.run("rev-parse", "--verify", f"refs/remotes/origin/{name}")
    if pushed == commit:
        # The files are there already, and switching would look at every one.
        await repository.run("update-ref", f"refs/heads/{name}", pushed)
        await repository.run("symbolic-ref", "HEAD", f"refs/heads/{name}")
    else:
        switching = ("checkout", "--quiet", "--force", "--no-track", "-B", name, pushed)
        await repository.run(*switching, timeout=FETCH_SECONDS)


def _config(assignment: Assignment, *, author: str, email: str) -> str:
    """What a clone of the one branch writes. The index was written where the files had another owner, hence
    `checkstat`: else git would read every one of them again."""
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
