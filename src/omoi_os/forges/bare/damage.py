"""Finds damage that a power cut or a failing disk left in a bare repository: empty objects, empty refs."""

import re
from collections.abc import Iterator
from pathlib import Path

from omoi_os.errors import ForgeError
from omoi_os.forges.bare import git

_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\n?")
_SYMBOLIC = re.compile(rb"ref: refs/[^\x00-\x20]+\n?")
_OBJECT_FOLDER = re.compile(r"[0-9a-f]{2}")
#: First bytes of packs and of their indexes.
_MAGIC = {".pack": b"PACK", ".idx": b"\xfftOc"}
#: How many refs are examined, newest first.
_TIPS = 500
_LOOK_SECONDS = 120


async def find(git_dir: Path) -> str | None:
    """Return what is damaged, as the end of a sentence; None if nothing is. It does not read the whole history."""
    if found := next(_damaged_files(git_dir), None):
        return found
    listing = ("for-each-ref", f"--count={_TIPS}", "--sort=-committerdate", "--format=%(objectname) %(refname)")
    try:
        refs = dict(line.split(" ", 1) for line in (await git.run(*listing, git_dir=git_dir)).splitlines())
        asked = "".join(f"{commit}\n{commit}^{{tree}}\n" for commit in refs).encode()
        answer = await git.run(
            "cat-file", "--batch-check=%(objecttype)", git_dir=git_dir, stdin=asked, timeout=_LOOK_SECONDS
        )
    except ForgeError as error:
        return str(error) if _means_damage(str(error)) else None
    for commit, line in zip((commit for commit in refs for _ in (1, 2)), answer.splitlines(), strict=False):
        if line.endswith("missing"):
            return f"{refs[commit]} leads to {commit}, which is missing or unreadable"
    return None


def _means_damage(words: str) -> bool:
    """Return whether git reports damaged content, not a limit or a lock."""
    return any(word in words for word in ("corrupt", "is empty", "bad object", "missing", "broken", "not a git repo"))


def _damaged_files(git_dir: Path) -> Iterator[str]:
    """Yield a phrase for each file that cannot be as git wrote it."""
    head = git_dir / "HEAD"
    if not head.is_file() or not _is_ref(head):
        yield "HEAD is empty or incomplete"
    for ref in sorted((git_dir / "refs").rglob("*")):
        if ref.is_file() and ref.suffix != ".lock" and not _is_ref(ref):
            yield f"{ref.relative_to(git_dir)} is empty or incomplete"
    packed = git_dir / "packed-refs"
    if packed.is_file() and b"\0" in packed.read_bytes():
        yield "packed-refs is incomplete"
    objects = git_dir / "objects"
    if not objects.is_dir():
        yield "its objects are missing"
        return
    for folder in objects.iterdir():
        if _OBJECT_FOLDER.fullmatch(folder.name):
            for file in folder.iterdir():
                if file.stat().st_size == 0 and not file.name.startswith("tmp_"):
                    yield f"object {folder.name}{file.name} is empty"
    for file in (objects / "pack").glob("pack-*"):
        magic = _MAGIC.get(file.suffix)
        if magic is not None and _start(file, len(magic)) != magic:
            yield f"{file.name} is empty or incomplete"


def _is_ref(path: Path) -> bool:
    content = _start(path, 4096)
    return bool(_COMMIT.fullmatch(content) or _SYMBOLIC.fullmatch(content))


def _start(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError:
        # Git packed or replaced it in the meantime.
        return b"ref: refs/gone\n" if size > 4 else b""
