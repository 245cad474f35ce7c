"""Check the page, or generate its API types: `python tools/web.py check | types`."""

import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools import chromium, page

ROOT = Path(__file__).parents[1]
TYPES = ROOT / "web/src/api/schema.d.ts"


def main(wanted: str) -> int:
    """Run the steps and return the exit code of the first that fails, or 0."""
    if not page.can_run_npm(os.environ):
        return _run_with_node(wanted)
    if wanted == "types":
        return _write_types(TYPES)
    steps: list[Sequence[str]] = [("run", "typecheck"), ("run", "lint"), ("run", "test")]
    page.install(ROOT / "web", os.environ)
    failed = next((code for code in (page.npm(ROOT / "web", step, os.environ) for step in steps) if code), 0)
    failed = failed or _check_types()
    if not failed and chromium.find(os.environ) is None:
        chromium.fetch(os.environ)
    return failed


def _check_types() -> int:
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / TYPES.name
        if code := _write_types(fresh):
            return code
        if filecmp.cmp(fresh, TYPES, shallow=False):
            return 0
    name = TYPES.relative_to(ROOT)
    sys.stderr.write(f"{name} does not match the API; run `make types` and commit it\n")
    return 1


def _write_types(path: Path) -> int:
    codegen = ROOT / "web/codegen"
    page.install(codegen, os.environ)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as description:
        subprocess.run([sys.executable, ROOT / "tools/openapi.py"], stdout=description, check=True)
        options = ("--default-non-nullable=false", "--output", str(path))
        return page.npm(codegen, ("run", "generate", "--", description.name, *options), os.environ)


def _run_with_node(wanted: str) -> int:
    """Run this program again with Node from a Python package, on a machine without Node."""
    uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    command = [uv, "run", "--no-sync", "--with", page.NODE_PACKAGE, "python", __file__, wanted]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
