"""Repositories that survive a power cut: what was answered or decided is on disk first.

Git makes its files durable (`forges.git.DURABLE_CONFIG`), but not the folders that name them: until those are on
disk too, a cut may undo the last rename, which is the one that moves a branch.
"""

from collections.abc import Iterable
from pathlib import Path

from omoi_os.system import durable


def sync_refs(git_dir: Path, refs: Iterable[str]) -> None:
    """Have these refs, as they are now, and all objects that came before them on disk. It blocks."""
    folders = {git_dir: None, git_dir / "objects": None, git_dir / "objects" / "pack": None, git_dir / "refs": None}
    for ref in refs:
        parents = [git_dir / parent for parent in Path(ref).parents if parent.parts]
        folders |= dict.fromkeys(reversed(parents))
    for folder in folders:
        if folder.is_dir():
            durable.sync_folder(folder)


def put_in_place(made: Path, target: Path) -> None:
    """Rename a new repository to its name, with everything in it on disk first. It blocks."""
    durable.sync_tree(made)
    made.rename(target)
    durable.sync_folder(target.parent)
