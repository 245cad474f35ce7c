"""Encryption of secrets: bound to their row, with keys that can be rotated and lost."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from omoi_os.config import Settings, load_settings
from omoi_os.credentials.encryption import Keyring, ensure_secret_key, key_path
from omoi_os.credentials.models import Credential
from omoi_os.errors import ConfigError, CredentialLocked, SetupError

SECRET = "sk-ant-a-secret-of-a-person"
OLD, NEW = "the-old-key-of-the-operator", "the-new-key-of-the-operator"


def settings_in(folder: Path, **parameters: object) -> Settings:
    return load_settings(environ={}, config_dir=folder, data_dir=folder / "data", **parameters)


def a_row(**fields: object) -> Credential:
    values = {"id": uuid4(), "user_id": uuid4(), "provider": "anthropic", "name": "Work", "base_url": None}
    return Credential(**values | fields)


def test_a_secret_comes_back_and_its_row_does_not_show_it(short_tmp: Path) -> None:
    keyring, row, twin = Keyring(settings_in(short_tmp)), a_row(), a_row()

    keyring.encrypt(row, SECRET)
    keyring.encrypt(twin, SECRET)

    assert keyring.decrypt(row) == SECRET
    assert SECRET.encode() not in row.ciphertext
    assert (row.nonce, row.ciphertext) != (twin.nonce, twin.ciphertext)


@pytest.mark.parametrize("field", ["id", "user_id", "provider", "base_url"])
def test_a_ciphertext_that_was_moved_to_another_row_does_not_open(short_tmp: Path, field: str) -> None:
    keyring, row = Keyring(settings_in(short_tmp)), a_row()
    keyring.encrypt(row, SECRET)
    other = {"id": uuid4(), "user_id": uuid4(), "provider": "github", "base_url": "https://evil.example.org"}
    kept = getattr(row, field)

    setattr(row, field, other[field])

    with pytest.raises(CredentialLocked, match="'Work' cannot be decrypted because its row was changed"):
        keyring.decrypt(row)
    setattr(row, field, kept)
    assert keyring.decrypt(row) == SECRET


def test_a_changed_ciphertext_does_not_open(short_tmp: Path) -> None:
    keyring, row = Keyring(settings_in(short_tmp)), a_row()
    keyring.encrypt(row, SECRET)

    row.ciphertext = bytes([row.ciphertext[0] ^ 1]) + row.ciphertext[1:]

    with pytest.raises(CredentialLocked):
        keyring.decrypt(row)


def test_a_key_is_generated_once_and_kept_private(short_tmp: Path) -> None:
    settings = settings_in(short_tmp)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(ensure_secret_key, [settings] * 16))
    made = key_path(settings).read_text()

    ensure_secret_key(settings)

    assert key_path(settings).stat().st_mode & 0o777 == 0o600
    assert (key_path(settings).read_text(), len(made.split())) == (made, 1)
    assert [path.name for path in settings.data_dir.iterdir()] == ["secret-key"]


def test_given_keys_are_used_and_not_written(short_tmp: Path) -> None:
    settings = settings_in(short_tmp, secret_keys=f"{NEW}, {OLD}")

    ensure_secret_key(settings)

    assert settings.secret_keys == (NEW, OLD)
    assert not key_path(settings).exists()


def test_the_first_key_encrypts_and_all_keys_decrypt(short_tmp: Path) -> None:
    before, rotated = Keyring(settings_in(short_tmp, secret_keys=OLD)), a_row()
    before.encrypt(rotated, SECRET)
    during, fresh = Keyring(settings_in(short_tmp, secret_keys=f"{NEW},{OLD}")), a_row()

    during.encrypt(fresh, SECRET)

    after = Keyring(settings_in(short_tmp, secret_keys=NEW))
    assert (during.decrypt(rotated), after.decrypt(fresh)) == (SECRET, SECRET)
    with pytest.raises(CredentialLocked):
        after.decrypt(rotated)


def test_a_process_that_runs_reads_a_new_key_when_it_meets_one(short_tmp: Path) -> None:
    settings = settings_in(short_tmp)
    running, old, new, later = Keyring(settings), a_row(), a_row(), a_row()
    running.encrypt(old, SECRET)

    rotating = Keyring(settings)
    rotating.add_key()
    rotating.encrypt(new, SECRET)
    running.encrypt(later, SECRET)

    assert old.key_id != new.key_id == later.key_id
    assert [running.decrypt(row) for row in (old, new, later)] == [SECRET] * 3
    assert key_path(settings).stat().st_mode & 0o777 == 0o600


def test_a_key_in_the_settings_is_rotated_by_the_operator(short_tmp: Path) -> None:
    with pytest.raises(ConfigError, match="OMOI_SECRET_KEY: put the new key before the old one"):
        Keyring(settings_in(short_tmp, secret_keys=OLD)).add_key()


def test_a_lost_key_is_one_error_that_names_the_credential_and_the_remedy(short_tmp: Path) -> None:
    settings, row, fresh = settings_in(short_tmp), a_row(), a_row()
    Keyring(settings).encrypt(row, SECRET)
    key_path(settings).unlink()

    ensure_secret_key(settings)
    keyring = Keyring(settings)
    keyring.encrypt(fresh, SECRET)

    with pytest.raises(CredentialLocked, match=r"'Work' .* its key \w{16} is missing: restore the key in .*secret-key"):
        keyring.decrypt(row)
    assert keyring.decrypt(fresh) == SECRET


@pytest.mark.parametrize("content", [b"", b"\n", b"cut\n"])
def test_a_file_without_a_whole_key_gets_a_new_one(short_tmp: Path, content: bytes) -> None:
    settings = settings_in(short_tmp)
    settings.data_dir.mkdir()
    key_path(settings).write_bytes(content)

    ensure_secret_key(settings)

    row = a_row()
    Keyring(settings).encrypt(row, SECRET)
    assert Keyring(settings).decrypt(row) == SECRET


def test_an_unusable_file_is_named_with_its_remedy(short_tmp: Path) -> None:
    settings = settings_in(short_tmp)
    key_path(settings).mkdir(parents=True)

    with pytest.raises(SetupError, match=r"secret-key: .*set OMOI_SECRET_KEY"):
        ensure_secret_key(settings)


def test_a_short_key_is_refused_and_not_shown(short_tmp: Path) -> None:
    with pytest.raises(ConfigError, match=r"^OMOI_SECRET_KEY: each key must have at least 16 characters$"):
        load_settings(environ={"OMOI_SECRET_KEY": f"{NEW},hush"}, config_dir=short_tmp)
