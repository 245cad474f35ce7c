"""A Chromium for the page's tests: the machine's own, else one from a package, which needs no root."""

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools import page

PACKAGE = "@sparticuz/chromium@153.0.0"
#: Where the package's is kept.
FOLDER = Path(__file__).parents[1] / ".venv/chromium"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Node unpacks Brotli by itself, Python does not.
_UNPACK = """
import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
for (const [from, to] of [["chromium.br", "chromium"], ["al2023.tar.br", "libraries.tar"]])
  await pipeline(createReadStream(`package/bin/${from}`), createBrotliDecompress(), createWriteStream(to));
"""


@dataclass(frozen=True, slots=True)
class Chromium:
    """A program that can be started, and what it needs around it."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()


def find_chromium() -> Chromium:
    """The one to use; `LookupError` says how to have one."""
    found = find(os.environ)
    if found is None:
        raise LookupError(
            "there is no Chromium; install one, name one in CHROMIUM, or run `make check`, which fetches one"
        )
    return found


def find(environ: Mapping[str, str]) -> Chromium | None:
    """`CHROMIUM`, or the machine's, or the package's if it was fetched."""
    if named := environ.get("CHROMIUM"):
        return Chromium(Path(named))
    for name in _NAMES:
        if found := shutil.which(name, path=environ.get("PATH")):
            return Chromium(Path(found))
    if not FOLDER.exists():
        return None
    libraries = {"LD_LIBRARY_PATH": str(FOLDER / "lib")}
    return Chromium(FOLDER / "chromium", libraries, ("--no-zygote", "--disable-gpu"))


def fetch(environ: Mapping[str, str]) -> None:
    """Have the package's, whole or not at all. Raises `page.BuildError`."""
    with tempfile.TemporaryDirectory(dir=FOLDER.parent, prefix="chromium-") as made:
        folder = Path(made)
        page.run(["pack", "--silent", PACKAGE], folder, environ)
        (archive,) = folder.glob("*.tgz")
        _unpack(archive, folder)
        unpacking = ["node", "--input-type=module", "--eval", _UNPACK]
        subprocess.run(unpacking, cwd=folder, env=page.with_node(environ), check=True)
        _unpack(folder / "libraries.tar", folder)
        (folder / "chromium").chmod(0o755)
        kept = folder / "kept"
        kept.mkdir()
        for name in ("chromium", "lib"):
            (folder / name).rename(kept / name)
        kept.rename(FOLDER)


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
