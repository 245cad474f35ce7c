"""Secrets are masked in everything that is stored."""

import base64
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest

from omoi_os import masking
from omoi_os.ids import new_token
from omoi_os.masking import MASK, Masker

SECRET = "correct-horse/battery+staple"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"before {SECRET} after",
        quote(SECRET, safe=""),
        SECRET.encode().hex(),
        *(base64.b64encode(b"x" * offset + SECRET.encode() + b"tail").decode() for offset in range(3)),
        *(base64.urlsafe_b64encode(b"x" * offset + SECRET.encode()).decode() for offset in range(3)),
    ],
)
def test_a_known_value_is_masked_in_each_of_its_forms(text: str) -> None:
    masked = Masker([SECRET]).mask_text(text)

    assert MASK in masked
    assert Masker().mask_text(text) == text


TOKENS = {
    "model key": "sk-ant-api03-abcdefghijklmnop",
    "sandbox token": new_token("sbx"),
    "user key": new_token("omoi"),
    "forge token": "ghp_" + "a1" * 18,
    "cloud key": "AKIA" + "A" * 16,
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS.keys())
def test_well_known_tokens_are_masked_by_their_shape(token: str) -> None:
    assert Masker().mask({"a": [f"x {token} y"]}) == {"a": [f"x {MASK} y"]}


def test_ordinary_text_stays_as_it_is() -> None:
    text = "The task sbx_1 wrote omoi_os/config.py and sk-learn."

    assert Masker([SECRET, None, "short"]).mask_text(text) == text


KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA\n" * 20_000 + "-----END RSA PRIVATE KEY-----"


def test_a_key_is_masked_whole_however_long_it_is_and_wherever_it_stands() -> None:
    before, after = "x" * (3 * masking.WINDOW + 17), "-----BEGIN PRIVATE KEY----- y"

    assert Masker().mask_text(f"{before}{KEY}{KEY} {after}") == f"{before}{MASK}{MASK} {after}"


def test_a_token_in_front_of_a_key_hides_no_part_of_it() -> None:
    assert "MIIE" not in Masker().mask_text(f"{TOKENS['model key']}{KEY}")


def test_a_token_is_masked_on_both_sides_of_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(7)
    monkeypatch.setattr(masking, "WINDOW", 100)
    masker = Masker([SECRET, SECRET + "-and-more"])
    pieces = [*TOKENS.values(), SECRET, SECRET + "-and-more", "sk-ant-short", "a" * 70, " ", "ghp_", "xoxb-" + "1" * 90]

    for _ in range(300):
        text = "".join(random.choices(pieces, k=12))
        whole = Masker.mask_text
        masked = whole(masker, text)
        monkeypatch.setattr(masking, "WINDOW", 10_000)
        assert masked == whole(masker, text)
        monkeypatch.setattr(masking, "WINDOW", 100)


ADDED = "added-at-run-time"


def test_a_value_is_masked_from_the_moment_it_is_added_until_it_is_removed() -> None:
    masker = Masker([SECRET])

    masker.add([ADDED, None])
    while_known = masker.mask_text(f"{SECRET} {ADDED}")
    masker.remove([ADDED])

    assert while_known == f"{MASK} {MASK}"
    assert masker.mask_text(f"{SECRET} {ADDED}") == f"{MASK} {ADDED}"


def test_a_value_that_was_added_twice_stays_masked_until_it_is_removed_twice() -> None:
    masker = Masker()
    masker.add([ADDED])
    masker.add([ADDED])

    masker.remove([ADDED])
    once = masker.mask_text(ADDED)
    masker.remove([ADDED, ADDED])
    masker.add([ADDED])

    assert (once, masker.mask_text(ADDED)) == (MASK, MASK)


def test_no_old_reference_keeps_the_old_values() -> None:
    masker = Masker([SECRET])
    mask_text, mask, masked, dump = masker.mask_text, masker.mask, masker.masked, masker.dump

    masker.add([ADDED])
    masker.remove([SECRET])

    text = f"{SECRET} {ADDED}"
    expected = f"{SECRET} {MASK}"
    assert (mask_text(text), mask([text])) == (expected, [expected])
    assert (masked([text])[0], dump([text])) == ([expected], f'["{expected}"]')


def test_a_call_that_runs_while_values_change_uses_one_set_throughout(monkeypatch: pytest.MonkeyPatch) -> None:
    masker = Masker()
    encode = masking._encode

    def change_and_encode(value: object) -> str:
        masker.add([ADDED])
        return encode(value)

    monkeypatch.setattr(masking, "_encode", change_and_encode)

    assert masker.masked([ADDED]) == ([ADDED], f'["{ADDED}"]')
    assert masker.masked([ADDED]) == ([MASK], f'["{MASK}"]')


def test_each_process_has_one_masker() -> None:
    sources = Path(masking.__file__).parent
    made = [path for path in sources.rglob("*.py") if "Masker(" in path.read_text() and path.name != "masking.py"]

    assert {str(path.relative_to(sources)) for path in made} == {
        "api/app.py",
        "gateway/server.py",
        "orchestrator/main.py",
    }
