"""The quota of a repository, which every push counts against."""

from pathlib import Path

from omoi_os.forges.bare import gc

GIB = 1024**3


async def left_bytes(git_dir: Path, *, limit_gb: float) -> tuple[int, str | None]:
    """Return how many bytes a push may add, and one sentence if that is 0. Git itself refuses a larger pack."""
    left = int(limit_gb * GIB) - (await gc.measure(git_dir)).size
    if left > 0:
        return left, None
    return 0, f"the repository has used up its quota of {limit_gb:g} GB (OMOI_PROJECT_REPOSITORY_GB)"
