"""Paths of the bare repositories on this machine and of the prepared checkouts beside them."""

from pathlib import Path

from omoi_os.forges.base import Repository

_REPOSITORY, _CHECKOUTS = ".git", ".checkouts"


def path_of(root: Path, repository: Repository) -> Path:
    """Return the folder of a project's bare repository, which may not exist yet."""
    return root / f"{repository.project_id}{_REPOSITORY}"


def repositories_in(root: Path) -> list[Path]:
    """Return the bare repositories in a folder, sorted. Folders that are still being filled are not among them."""
    return sorted(path for path in root.glob(f"*{_REPOSITORY}") if path.is_dir())


def checkouts_of(git_dir: Path) -> Path:
    """Return the folder for the prepared checkouts of a bare repository, which may not exist yet."""
    return git_dir.with_suffix(_CHECKOUTS)


def checkouts_in(root: Path) -> list[Path]:
    """Return the folders for prepared checkouts in a folder, sorted. Their repository may be gone."""
    return sorted(path for path in root.glob(f"*{_CHECKOUTS}") if path.is_dir())
