"""The page is built by the real npm, and only when its sources have changed."""

import gzip
import json
import os
import tomllib
from pathlib import Path

import pytest

from tools import page

REPOSITORY = Path(__file__).parents[2]
#: Counts its runs, and writes a page as Vite does: into a folder that it empties first.
BUILD = """
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
const out = "../src/omoi_os/web/static";
appendFileSync("../runs", "x");
rmSync(out, { recursive: true, force: true });
mkdirSync(`${out}/assets`, { recursive: true });
writeFileSync(`${out}/index.html`, "<div id=root></div>");
writeFileSync(`${out}/assets/index-abc.js`, readFileSync("src/main.ts", "utf8").repeat(200));
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a tiny page that needs no packages."""
    web = tmp_path / "web"
    (web / "src").mkdir(parents=True)
    (web / "src" / "main.ts").write_text("export const answer = 42;\n")
    (web / "index.html").write_text("<div id=root></div>")
    (web / "build.mjs").write_text(BUILD)
    package = {"name": "tiny", "version": "1.0.0", "private": True, "scripts": {"build": "node build.mjs"}}
    (web / "package.json").write_text(json.dumps(package))
    lock = {"name": "tiny", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": package | {"scripts": {}}}}
    (web / "package-lock.json").write_text(json.dumps(lock))
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **more}


def runs(root: Path) -> int:
    return len((root / "runs").read_text()) if (root / "runs").exists() else 0


def test_the_page_is_built_once_and_again_only_when_a_source_changes(root: Path) -> None:
    assert page.build(root, environment())
    assert not page.build(root, environment())
    assert runs(root) == 1

    (root / "web" / "node_modules" / "elsewhere.json").write_text("{}")
    assert not page.build(root, environment())
    (root / "web" / "src" / "main.ts").write_text("export const answer = 43;\n")
    assert page.build(root, environment())
    (root / "web" / "src" / "main.ts").rename(root / "web" / "src" / "other.ts")
    assert not page.is_current(root)
    assert runs(root) == 2


def test_a_page_that_was_lost_is_built_again(root: Path) -> None:
    page.build(root, environment())
    (root / page.STATIC / "index.html").unlink()

    assert page.build(root, environment())


def test_packages_are_installed_again_only_when_the_lock_changes(root: Path) -> None:
    page.build(root, environment())
    installed = root / "web" / "node_modules" / "kept"
    installed.touch()
    (root / "web" / "src" / "main.ts").write_text("changed")
    page.build(root, environment())
    assert installed.exists()

    lock = root / "web" / "package-lock.json"
    lock.write_text(lock.read_text() + "\n")
    page.build(root, environment())
    assert not installed.exists()


def test_large_files_are_stored_compressed_too(root: Path) -> None:
    page.build(root, environment())

    script = root / page.STATIC / "assets" / "index-abc.js"
    assert gzip.decompress(script.with_name("index-abc.js.gz").read_bytes()) == script.read_bytes()
    assert not list((root / page.STATIC).glob("*.gz"))


def test_nothing_is_built_without_sources_or_with_omoi_skip_web(root: Path, tmp_path: Path) -> None:
    assert not page.build(root, environment(OMOI_SKIP_WEB="1"))
    assert not page.build(tmp_path / "elsewhere", environment())
    assert runs(root) == 0
    assert page.build(root, environment(OMOI_SKIP_WEB="0"))


def test_a_failed_build_reports_the_error_and_the_remedy(root: Path) -> None:
    (root / "web" / "build.mjs").write_text("console.error('no such module'); process.exit(3)")
    with pytest.raises(page.BuildError, match=r"(?s)npm run build.*OMOI_SKIP_WEB=1.*no such module"):
        page.build(root, environment())
    (root / "web" / "build.mjs").write_text("")
    with pytest.raises(page.BuildError, match=r"index\.html"):
        page.build(root, environment())
    assert not page.is_current(root)


@pytest.mark.parametrize("version", [None, "v18.20.0", "v20.18.1", "nonsense"])
def test_a_machine_without_a_suitable_node_gets_a_remedy(root: Path, tmp_path: Path, version: str | None) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if version is not None:
        for name in ("node", "npm"):
            (programs / name).write_text(f"#!/bin/sh\necho {version}\n")
            (programs / name).chmod(0o755)

    with pytest.raises(page.BuildError, match=r"Node 20\.19 or newer.*OMOI_SKIP_WEB=1"):
        page.build(root, environment(PATH=str(programs)))


def test_uv_tracks_the_sources_of_the_page() -> None:
    keys = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["uv"]["cache-keys"]
    named = {key["file"].removeprefix("web/") for key in keys if key.get("file", "").startswith("web/")}

    assert named == set(page.SOURCES)
