"""Values are truncated, kept in blobs and made storable."""

import hashlib
import json
from pathlib import Path
from typing import Any

from omoi_os.worker.reporter.blobs import MAX_BLOB_BYTES, Blobs
from omoi_os.worker.reporter.truncation import bounded, clean, cut_text


def test_small_values_stay_as_they_are(root: Path) -> None:
    data = {"a": 1, "b": None, "c": {"d": ["e"]}, "f": "x" * 16_384}

    assert bounded(data, blobs=Blobs(root / "blobs")) == data
    assert not (root / "blobs").exists()


def test_a_large_structure_keeps_its_shape_and_its_whole_in_a_blob(root: Path) -> None:
    value = {"file_path": "a.py", "content": "x" * 50_000}
    data = bounded({"input": value}, blobs=Blobs(root))

    assert data["input"] == {"file_path": "a.py", "content": "x" * 2048}
    assert data["input_truncated"] is True
    assert data["input_size"] == len(json.dumps(value))
    assert json.loads((root / data["input_blob"]).read_bytes()) == value


def test_a_structure_of_many_small_things_becomes_a_preview(root: Path) -> None:
    data = bounded({"input": {"list": list(range(10_000))}}, blobs=Blobs(root))

    assert data["input"]["preview"].startswith('{"list": [0, 1,')


def test_a_large_diff_moves_to_a_blob(root: Path) -> None:
    diff = "+ü\n" * 10_000
    data = bounded({"full_diff": diff, "diff_size": 1}, blobs=Blobs(root))

    assert data["full_diff"] is None
    assert data["diff_blob"] == hashlib.sha256(diff.encode()).hexdigest()
    assert (root / data["diff_blob"]).read_text() == diff


def test_what_is_too_large_for_a_blob_is_only_cut(root: Path) -> None:
    data = bounded({"output": "x" * (MAX_BLOB_BYTES + 1)}, blobs=Blobs(root))

    assert (data["output_blob"], data["output_size"]) == (None, MAX_BLOB_BYTES + 1)


def test_characters_that_no_database_stores_are_replaced() -> None:
    value: Any = {"a\0": ["\ud800x", {"b": "\udfff"}], "c": "ü\U0001f600"}

    assert clean(value) == {"a\ufffd": ["\ufffdx", {"b": "\ufffd"}], "c": "ü\U0001f600"}


def test_text_is_cut_between_characters() -> None:
    assert cut_text("aü", 2) == "a"
    assert cut_text("aü", 3) == "aü"


def test_an_event_of_countless_fields_is_bounded(root: Path) -> None:
    assert len(bounded({str(number): "x" for number in range(100_000)}, blobs=Blobs(root))) <= 64
