"""Find a Chromium for the browser tests: the machine's own, or one from a package, which needs no root."""

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
#: The folder of the downloaded Chromium.
FOLDER = Path(__file__).parents[1] / ".venv/chromium"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Node can decompress Brotli, Python cannot.
_UNPACK = """
import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
for (const [from, to] of [["chromium.br", "chromium"], ["al2023.tar.br", "libraries.tar"]])
  await pipeline(createReadStream(`package/bin/${from}`), createBrotliDecompress(), createWriteStream(to));
"""


@dataclass(frozen=True, slots=True)
class Chromium:
    """A Chromium executable with its environment and arguments."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()


def find_chromium() -> Chromium:
    """Return the Chromium to use. Raise `LookupError` with instructions if there is none."""
    found = find(os.environ)
    if found is None:
        raise LookupError(
            "no Chromium found; install one, set CHROMIUM to its path, or run `make check`, which downloads one"
        )
    return found


def find(environ: Mapping[str, str]) -> Chromium | None:
    """Return the one in `CHROMIUM`, the machine's, or the downloaded one."""
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
    """Download the package's Chromium, completely or not at all. Raise `page.BuildError`."""
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
