"""The documents that the provider gives to a supervisor."""

import pytest

from omoi_os.providers.local.supervisor import documents


def test_a_document_is_read_back_unchanged() -> None:
    fields = {"argv": ["sh", "-c", ""], "none": [], "odd": ["ü\n\udcff", "1", "argv"]}

    assert documents.unpack(documents.pack(fields)) == fields
    assert documents.unpack(b"") == {}


def test_a_zero_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="zero byte"):
        documents.pack({"argv": ["a\0b"]})
