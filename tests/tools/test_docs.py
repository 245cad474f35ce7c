"""The documents name files and pages that exist."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]+))?\)|\]\(#([^)\s]+)\)")
#: A file with its folder, or a folder in a folder. Both may be relative to the folder that the text is about.
_PATH = re.compile(r"`((?:[a-z_.-]+/)+[a-z0-9_.-]+\.(?:py|md|sh|yaml|svg)|(?:[a-z_.-]+/){2,})`")


def tracked() -> str:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return "".join(f"/{name}\n" for name in listed.splitlines())


def names(documents: list[Path]) -> list[str]:
    return [str(document.relative_to(ROOT)) for document in documents]


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", names(DOCUMENTS))
def test_every_link_leads_somewhere(name: str) -> None:
    document = ROOT / name
    for target, anchor, own_anchor in _LINK.findall(document.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        page = document.parent / target if target else document
        assert page.exists(), f"{name} links to {target}"
        if wanted := anchor or own_anchor:
            assert wanted in anchors(page), f"{name} links to {target}#{wanted}"


@pytest.mark.parametrize("name", names(DOCUMENTS))
def test_every_file_that_is_named_exists(name: str) -> None:
    files = tracked()
    for path in _PATH.findall((ROOT / name).read_text()):
        assert f"/{path}" + ("" if path.endswith("/") else "\n") in files, f"{name} names {path}"
