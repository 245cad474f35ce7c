"""A Chromium for the tests: the machine's own, else one from a package, which needs no root."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "@sparticuz/chromium@153.0.0"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: Node unpacks Brotli by itself, Python does not.
_UNPACK = """
import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
for (const [from, to] of [["chromium.br", "chromium"], ["al2023.tar.br", "libraries.tar"]])
  await pipeline(createReadStream(`package/bin/${from}`), createBrotliDecompress(), createWriteStream(to));
"""


@dataclass(frozen=True)
class Chromium:
    """A program that can be started, and what it needs around it."""

    path: Path
    environment: dict[str, str]
    arguments: tuple[str, ...] = ()


def find_chromium() -> Chromium:
    """`CHROMIUM`, or the machine's, or the package's, which is fetched once into the virtual environment."""
    if named := os.environ.get("CHROMIUM"):
        return Chromium(Path(named), {})
    for name in _NAMES:
        if found := shutil.which(name):
            return Chromium(Path(found), {})
    return _packaged(Path(sys.prefix) / "chromium")


def _packaged(folder: Path) -> Chromium:
    if not folder.exists():
        making = folder.with_name(f"chromium-{os.getpid()}")
        making.mkdir()
        _run(["npm", "pack", "--silent", PACKAGE], making)
        (archive,) = making.glob("*.tgz")
        _run(["tar", "-xzf", archive.name], making)
        _run(["node", "--input-type=module", "--eval", _UNPACK], making)
        _run(["tar", "-xf", "libraries.tar"], making)
        (making / "chromium").chmod(0o755)
        shutil.rmtree(making / "package")
        archive.unlink()
        try:
            making.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(making)
    return Chromium(folder / "chromium", {"LD_LIBRARY_PATH": str(folder / "lib")}, ("--no-zygote", "--disable-gpu"))


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL)
