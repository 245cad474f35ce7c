"""Find words and phrases that the project does not use, in prose, comments, docstrings and texts.

Usage: words.py [--all] [PATH …]. Prints one line per finding and exits with 1 if there is one. `--all` includes the
paths in `PENDING` and prints the number of findings per package.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: A pattern (matched as whole words, in any case) and what to write instead.
WORDS: tuple[tuple[str, str], ...] = (
    (r"whoever|whomever", "name the person or the component"),
    (r"anew", "again"),
    (r"thereof|therein|whereof|wherein|whence|thence|lest|upon|till", "plain English"),
    (r"such a one|such an one", "name the thing"),
    (r"in hands", "leased, held"),
    (r"told(?! apart)", "reported, notified, shown"),
    (r"hears? of|heard(?: of)?|hearing", "received, notified; stream"),
    (r"goes on|went on", "continues, continued"),
    (r"live[sd]? on for nobody|for nobody", "orphaned"),
    (r"of (?:its|their|one's) own", "its own …, separate"),
    (r"as one likes(?: them| it)?|one's own", "your, its"),
    (r"has (?:it|them) not", "does not have"),
    (r"(?:number|integer) from \d+ on", "at least N"),
    (r"begun|began", "started"),
    (r"for ever", "forever"),
    (r"in vain", "without success"),
    (r"rescue[rsd]?|rescuing|hand(?:s|ed|ing)? in", "salvage, submit"),
    (r"what of", "which part of"),
    (r"(?:agent|model|worker|verifier|guardian|sandbox|its|their)(?:'s)? word|a word to", "report, message"),
    (r"waits? for room|waiting for room", "waits in the queue"),
    (r"doors?", "gateway socket"),
    (r"(?<!copyright.)(?<!lock.)(?<!lease.)holders?(?! of (?:the|a|its) (?:lock|lease))", "guest, supervisor"),
    (r"how a part is|said to it|(?-i:Lasted)", "status, messages, duration"),
    (r"alarms?", "signal, warning"),
)

#: Where a phrase is right as it is: path, the phrase in lower case, the reason.
ALLOWED: tuple[tuple[str, str, str], ...] = (
    ("src/omoi_os/config.py", "doors", "a folder in existing data folders, which surviving sandboxes have mounted"),
    ("src/omoi_os/db/migrations/versions/0002_providers.py", "door", "a column's name until 0014"),
    ("src/omoi_os/db/migrations/versions/0014_gateway_sockets.py", "door", "a column's name until then"),
    ("src/omoi_os/providers/daytona/guest_calls.py", "holder", "a folder in sandboxes of an earlier release"),
    ("src/omoi_os/providers/local/host/records.py", "door", "a key in documents of an earlier release"),
    ("tests/providers/local/host/test_records.py", "door", "the key of src/omoi_os/providers/local/host/records.py"),
    ("tests/faults/test_storm.py", "doors", "the folder of src/omoi_os/config.py"),
)

#: Files that hold the words because they are about them, or that are generated.
EXCLUDED = ("tools/words.py", "tests/tools/test_words.py", "web/src/api/schema.gen.ts")

#: Paths that still have findings. `make check` skips them; remove a path as soon as it is clean.
PENDING: tuple[str, ...] = ()

#: Identifiers (parts between underscores) that name something else in the glossary.
IDENTIFIERS = frozenset({"door", "doors", "holder", "holders", "whoever", "anew", "rescuer"})

_GROUPS = (rf"(?P<w{i}>\b(?:{pattern})\b)".replace(" ", r"\s+") for i, (pattern, _) in enumerate(WORDS))
_PATTERN = re.compile("|".join(_GROUPS), re.IGNORECASE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_TEXT_SUFFIXES = {".ts", ".tsx", ".css", ".html", ".sh", ".yaml", ".yml", ".toml", ""}


@dataclass(frozen=True)
class Finding:
    """One use of a word that the project does not use."""

    path: str
    line: int
    phrase: str
    write: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.phrase!r} (write: {self.write})"


def findings(path: str, content: str) -> list[Finding]:
    """Return the findings of one file, in the order of its lines."""
    found = []
    for line, text in _texts(path, content):
        for match in _PATTERN.finditer(text):
            phrase = " ".join(match.group().split())
            write = WORDS[int((match.lastgroup or "w0")[1:])][1]
            if not _allowed(path, phrase):
                found.append(Finding(path, line + text.count("\n", 0, match.start()), phrase, write))
    if path.endswith(".py"):
        found += [Finding(path, line, name, "the glossary's name") for line, name in _identifiers(content)]
    return sorted(found, key=lambda finding: finding.line)


def tracked(paths: list[str]) -> list[str]:
    """Return the files in git that hold prose, below `paths` or in the whole tree."""
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and name not in EXCLUDED and _holds_prose(name)]


def pending(path: str) -> bool:
    """Say whether a path is listed in `PENDING`."""
    return any(_is_below(path, prefix) for prefix in PENDING)


def clean(found: list[Finding]) -> list[str]:
    """Return the entries of `PENDING` without a finding."""
    return [prefix for prefix in PENDING if not any(_is_below(finding.path, prefix) for finding in found)]


def package(path: str) -> str:
    """Return the folder under which a finding is counted: a package of `src/omoi_os`, else the top two folders."""
    parts = path.split("/")
    depth = 3 if path.startswith("src/") else 2
    return "/".join(parts[:depth] if len(parts) > depth else parts[:-1] or parts)


def main() -> int:
    """Print the findings; return the exit code."""
    arguments = argparse.ArgumentParser(description="Find words that the project does not use.")
    arguments.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the whole tree)")
    arguments.add_argument("--all", action="store_true", help="include pending paths and print a summary")
    options = arguments.parse_args()
    every = []
    for name in tracked(options.paths):
        if (ROOT / name).is_file():
            every += findings(name, (ROOT / name).read_text(encoding="utf-8", errors="replace"))
    found = [finding for finding in every if options.all or not pending(finding.path)]
    for finding in found:
        print(finding)  # noqa: T201
    if not options.paths:
        for path in clean(every):
            print(f"{path} has no findings any longer: remove it from PENDING in tools/words.py")  # noqa: T201
    if options.all:
        for name, number in Counter(package(finding.path) for finding in found).most_common():
            print(f"{number:5} {name}")  # noqa: T201
    return 1 if found else 0


def _holds_prose(name: str) -> bool:
    path = Path(name)
    if path.suffix in {".py", ".md"}:
        return True
    return path.suffix in _TEXT_SUFFIXES and (path.suffix != "" or path.name in {"Makefile", "Dockerfile"})


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


def _allowed(path: str, phrase: str) -> bool:
    return any(path == where and phrase.lower() == words for where, words, _ in ALLOWED)


def _texts(path: str, content: str) -> Iterator[tuple[int, str]]:
    """Yield the prose of a file, each with its first line."""
    if path.endswith(".py"):
        yield from _comments(content)
        yield from _strings(content)
    elif path.endswith(".md"):
        yield 1, _prose(content)
    else:
        yield 1, content


def _prose(markdown: str) -> str:
    """Blank out code, keeping the line breaks."""
    without = _FENCE.sub(lambda match: "\n" * match.group().count("\n"), markdown)
    return _CODE.sub("``", without)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments; lines that follow each other are one comment, so that a phrase may span them."""
    start, lines = 0, []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if lines and token.start[0] == start + len(lines):
                lines.append(token.string.lstrip("#:"))
                continue
            if lines:
                yield start, "\n".join(lines)
            start, lines = token.start[0], [token.string.lstrip("#:")]
    if lines:
        yield start, "\n".join(lines)


def _strings(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Yield the names that a file defines or uses and that contain a word of `IDENTIFIERS`."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", token.string)
            if IDENTIFIERS.intersection(part.lower() for part in parts):
                yield token.start[0], token.string


if __name__ == "__main__":
    sys.exit(main())
