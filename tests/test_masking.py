"""Secrets are taken out of whatever is stored."""

import base64
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
