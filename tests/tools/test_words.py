"""The check for words that the project does not use."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "words.py"


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", TOOL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["words"] = module
    spec.loader.exec_module(module)
    return module


def phrases(words: ModuleType, path: str, content: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.phrase) for finding in words.findings(path, content)]


def test_docstrings_comments_and_literals_of_python_are_read(words: ModuleType) -> None:
    source = '"""Tell whoever asks."""\n\nx = "begin anew"  # is told\ny = f"{x} in hands"\n'

    assert phrases(words, "a.py", source) == [(1, "whoever"), (3, "told"), (3, "anew"), (4, "in hands")]


def test_a_phrase_may_span_two_lines_of_a_comment_or_a_docstring(words: ModuleType) -> None:
    assert phrases(words, "a.py", "# such a\n# one\n") == [(1, "such a one")]
    assert phrases(words, "a.py", '"""First.\n\nA process of\nits own.\n"""\n') == [(3, "of its own")]


def test_names_that_mean_something_else_in_the_glossary_are_found(words: ModuleType) -> None:
    assert phrases(words, "a.py", "class DoorOpener:\n    the_holder = 1\n    placeholder = 2\n") == [
        (1, "DoorOpener"),
        (2, "the_holder"),
    ]


def test_markdown_is_read_without_its_code(words: ModuleType) -> None:
    assert phrases(words, "a.md", "One `door`.\n```\ndoor\n```\nTwo doors.\n") == [(5, "doors")]


def test_texts_of_the_page_are_read(words: ModuleType) -> None:
    assert phrases(words, "web/src/a.tsx", "<p>\n  It goes on\n</p>\n") == [(2, "goes on")]


@pytest.mark.parametrize(
    "text", ["told apart", "a lock holder", "a placeholder", "the copyright holder", "indoors", "holder of the lease"]
)
def test_words_with_another_meaning_are_not_reported(words: ModuleType, text: str) -> None:
    assert phrases(words, "a.md", text) == []


def test_every_exception_is_in_use_and_has_a_reason(words: ModuleType) -> None:
    for path, phrase, reason in words.ALLOWED:
        content = (words.ROOT / path).read_text()
        assert phrase in " ".join(content.lower().split()), f"{path} no longer says {phrase!r}"
        assert reason


def test_pending_paths_exist(words: ModuleType) -> None:
    assert [path for path in words.PENDING if not (words.ROOT / path).exists()] == []


def test_a_pending_path_without_findings_is_named(words: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "PENDING", ("src/a", "src/b"))

    assert words.clean(words.findings("src/a/x.md", "Try anew.")) == ["src/b"]


def test_a_finding_says_what_to_write(words: ModuleType) -> None:
    (finding,) = words.findings("a.md", "Try anew.")

    assert str(finding) == "a.md:1: 'anew' (write: again)"
