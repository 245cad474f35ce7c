"""Encrypts secrets with AES-GCM, bound to their row. The first key encrypts, all keys decrypt."""

import json
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from omoi_os.config import MIN_KEY_CHARACTERS, Settings
from omoi_os.credentials.models import Credential
from omoi_os.errors import ConfigError, CredentialLocked, SetupError
from omoi_os.system import durable

FILE_NAME = "secret-key"
_NONCE_BYTES = 12


def key_path(settings: Settings) -> Path:
    """Return the file that stores generated keys, one per line."""
    return settings.data_dir / FILE_NAME


def ensure_secret_key(settings: Settings) -> None:
    """Generate a key if there is none. Processes that start at the same time get the same key."""
    Keyring(settings).prepare()


class Keyring:
    """The keys from OMOI_SECRET_KEY, or from the file in the data folder, which is read again when it may have changed.

    So a rotation needs no restart, and a process without the file can still start.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path = key_path(settings)
        #: By id; the first one encrypts.
        self._ciphers: dict[str, AESGCM] = {}

    def prepare(self) -> None:
        """Read the keys; generate the first one if there is none. Raise `SetupError` if the file cannot be used."""
        self._read()
        if self._ciphers:
            return
        try:
            durable.make_folder(self._path.parent)
            # An empty file holds no key, so nothing is lost by replacing it.
            write = durable.write if self._path.exists() else durable.create
            write(self._path, f"{_new_key()}\n".encode())
        except OSError as error:
            raise self._unusable(error) from error
        self._read()

    def add_key(self) -> None:
        """Make a new key the first one in the file. Raise `ConfigError` if the keys are in OMOI_SECRET_KEY."""
        if self._settings.secret_keys:
            raise ConfigError("OMOI_SECRET_KEY: put the new key before the old one, separated by a comma, and restart")
        lines = [_new_key(), *self._lines()]
        durable.write(self._path, "".join(f"{line}\n" for line in lines).encode())
        self._read()

    @property
    def first_id(self) -> str:
        """Return the id of the key that encrypts."""
        self.prepare()
        return next(iter(self._ciphers))

    def encrypt(self, row: Credential, secret: str) -> None:
        """Store the encrypted secret in its row, whose id, owner, provider and URL must be set."""
        key_id = self.first_id
        row.key_id, row.nonce = key_id, os.urandom(_NONCE_BYTES)
        row.ciphertext = self._ciphers[key_id].encrypt(row.nonce, secret.encode(), _bound(row))

    def decrypt(self, row: Credential) -> str:
        """Return the secret of a row. Raise `CredentialLocked` if its key is missing or its row was changed."""
        if row.key_id not in self._ciphers:
            self._read()
        cipher = self._ciphers.get(row.key_id)
        if cipher is None:
            place = "OMOI_SECRET_KEY" if self._settings.secret_keys else f"OMOI_SECRET_KEY or {self._path}"
            raise CredentialLocked(
                f"the credential {row.name!r} cannot be decrypted because its key {row.key_id} is missing: "
                f"restore the key in {place}, or delete the credential and add it again"
            )
        try:
            return cipher.decrypt(row.nonce, row.ciphertext, _bound(row)).decode()
        except InvalidTag:
            raise CredentialLocked(
                f"the credential {row.name!r} cannot be decrypted because its row was changed: "
                "delete it and add it again"
            ) from None

    def _read(self) -> None:
        found = {_key_id(text): AESGCM(_derive(text, b"omoi credential", 32)) for text in self._lines()}
        self._ciphers = found

    def _lines(self) -> list[str]:
        if self._settings.secret_keys:
            return list(self._settings.secret_keys)
        try:
            lines = [line.strip() for line in self._path.read_text().splitlines()]
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise self._unusable(error) from error
        # A line cut short by a full disk or a bad copy must not encrypt anything.
        return [line for line in lines if len(line) >= MIN_KEY_CHARACTERS]

    def _unusable(self, error: Exception) -> SetupError:
        reason = getattr(error, "strerror", None) or "it is not text"
        return SetupError(f"{self._path}: {reason}; check the file and its owner, or set OMOI_SECRET_KEY")


def _new_key() -> str:
    return secrets.token_urlsafe(32)


def _key_id(text: str) -> str:
    """Return a name for a key that does not reveal it."""
    return _derive(text, b"omoi key id", 8).hex()


def _derive(text: str, purpose: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=purpose).derive(text.encode())


def _bound(row: Credential) -> bytes:
    """Return the data that a ciphertext is bound to: in another row, or for another host, it does not open."""
    return json.dumps([str(row.id), str(row.user_id), row.provider, row.base_url]).encode()
