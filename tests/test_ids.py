"""Identifiers."""

from uuid import RFC_4122, UUID

from omoi_os.ids import new_token, sandbox_id_for_task, token_hash, uuid7, uuid7_text


def test_row_ids_are_version_7_and_sort_by_time() -> None:
    ids = [uuid7() for _ in range(5)]

    assert {value.version for value in ids} == {7}
    assert [value.int >> 80 for value in ids] == sorted(value.int >> 80 for value in ids)


def test_row_ids_as_text_are_of_the_same_kind() -> None:
    texts = [uuid7_text() for _ in range(200)]

    ids = [UUID(text) for text in texts]
    assert [str(value) for value in ids] == texts
    assert {(value.version, value.variant) for value in ids} == {(7, RFC_4122)}
    assert abs((ids[0].int >> 80) - (uuid7().int >> 80)) < 60_000
    assert len({value.int & (1 << 62) - 1 for value in ids}) == 200


def test_a_sandbox_is_named_after_the_last_digits_of_its_task() -> None:
    name = sandbox_id_for_task(UUID("01890000-0000-7000-8000-0000deadbeef"))

    assert name.startswith("omoios-deadbeef-")
    assert len(name) == len("omoios-deadbeef-") + 6


def test_tokens_differ_and_only_their_hash_is_comparable() -> None:
    first, second = new_token("sbx"), new_token("sbx")

    assert first != second
    assert token_hash(first) == token_hash(first) != token_hash(second)
    assert first not in token_hash(first)
