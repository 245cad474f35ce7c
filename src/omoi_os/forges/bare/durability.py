"""Makes changes of a bare repository survive a power cut before they are acknowledged.

Git syncs its files (`bare.git.DURABLE_CONFIG`), but not the folders that contain them. Until those are synced as well,
a power cut may undo the last rename, which is the one that moves a branch.
"""

from collections.abc import Iterable
from pathlib import Path

from omoi_os.system import durable


def sync_refs(git_dir: Path, refs: Iterable[str]) -> None:
    """Sync these refs, as they are now, and all objects written before them to disk. It blocks."""
    folders = {git_dir: None, git_dir / "objects": None, git_dir / "objects" / "pack": None, git_dir / "refs": None}
    for ref in refs:
        parents = [git_dir / parent for parent in Path(ref).parents if parent.parts]
        folders |= dict.fromkeys(reversed(parents))
    for folder in folders:
        if folder.is_dir():
            durable.sync_folder(folder)


def put_in_place(made: Path, target: Path) -> None:
    """Sync a new repository to disk, then rename it to its final path. It blocks."""
    durable.sync_tree(made)
    made.rename(target)
    durable.sync_folder(target.parent)
