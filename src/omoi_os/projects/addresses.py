"""Addresses of a project's repository: for its forge, for people, and for git inside a sandbox."""

from urllib.parse import quote
from uuid import UUID

from omoi_os.forges.base import Repository
from omoi_os.projects.models import Project


def repository_of(project: Project) -> Repository:
    """Return the project's repository as its forge needs it."""
    return Repository(
        project_id=project.id,
        owner=project.github_owner,
        name=project.github_repo,
        default_branch=project.default_branch,
        seed=project.repo_url,
    )


def git_path(project: Project) -> str:
    """Return the path at which the gateway serves the repository, e.g. `/git/kivo360/OmoiOS.git`."""
    owner, name = project.github_owner, project.github_repo
    if owner and name:
        return f"/git/{quote(owner, safe='')}/{quote(name, safe='')}.git"
    return f"/git/local/{project.id}.git"


def clone_url(project_id: UUID, *, public_url: str) -> str:
    """Return the URL at which the API serves the repository to people."""
    return f"{public_url}/git/{project_id}.git"
