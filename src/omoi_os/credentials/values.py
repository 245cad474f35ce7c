"""Rules for the fields of a new credential."""

import re
from dataclasses import dataclass, field

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from omoi_os.config import Settings
from omoi_os.credentials.kinds import MODEL, MODELS, CredentialProvider
from omoi_os.errors import DestinationRefused, Invalid
from omoi_os.system.destinations import check_url

#: Tokens of a subscription: for access, and for renewing it.
_SUBSCRIPTION = ("sk-ant-oat", "sk-ant-ort")
#: Keys and tokens are sent in a header, which must not contain spaces or line ends.
_TOKEN = re.compile(r"[\x21-\x7e]{8,1000}")
#: Shorter secrets could not be masked without masking ordinary words.
_PASSWORD = re.compile(r"[^\x00-\x1f\x7f]{8,1000}")
_PRIVATE_KEY = "-----BEGIN "


@dataclass(frozen=True, slots=True)
class NewCredential:
    """The fields of a credential to add."""

    provider: CredentialProvider
    name: str
    secret: str = field(repr=False)
    base_url: str | None = None
    model: str | None = None
    username: str | None = None
    known_hosts: str | None = None
    #: None: the first one for its use becomes the default.
    is_default: bool | None = None
    shared: bool = False


def checked(new: NewCredential, settings: Settings) -> tuple[str | None, str]:
    """Return the canonical base URL of a new credential and what it is used for. Raise `Invalid` for a bad field."""
    if new.shared and new.provider not in MODELS:
        raise Invalid("shared: only credentials for models can be shared; GitHub and git are always used as yourself")
    if new.provider != CredentialProvider.GIT and (new.username is not None or new.known_hosts is not None):
        raise Invalid("username and known_hosts: only for the provider git")
    if new.provider not in MODELS and new.model is not None:
        raise Invalid("model: only for providers of models")
    if new.provider == CredentialProvider.GIT:
        return _git(new, settings)
    _check_token(new)
    if new.provider == CredentialProvider.GITHUB:
        if new.base_url is not None:
            raise Invalid("base_url: GitHub's address is the installation's setting GITHUB_API_URL; leave this out")
        return None, CredentialProvider.GITHUB.value
    if new.provider == CredentialProvider.ANTHROPIC_COMPATIBLE and new.base_url is None:
        raise Invalid("base_url: required for anthropic_compatible, such as https://api.z.ai/api/anthropic")
    return _base_url(new, settings, schemes=("https",)) if new.base_url else None, MODEL


def _check_token(new: NewCredential) -> None:
    if new.provider in MODELS and new.secret.startswith(_SUBSCRIPTION):
        raise Invalid(
            "secret: this is the OAuth token of a Claude subscription, which Anthropic's terms do not allow in other"
            " products; create an API key at https://platform.claude.com and use that"
        )
    if not _TOKEN.fullmatch(new.secret):
        raise Invalid("secret: must be 8 to 1000 visible ASCII characters without spaces")


def _git(new: NewCredential, settings: Settings) -> tuple[str, str]:
    if new.base_url is None:
        raise Invalid("base_url: required for git: https://host or ssh://host, with a port if it is not the usual one")
    base_url = _base_url(new, settings, schemes=("https", "ssh"))
    scheme, _, rest = base_url.partition("://")
    if "/" in rest:
        raise Invalid("base_url: for git, name only the host and its port, without a path")
    if scheme == "ssh":
        _check_ssh(new)
    elif new.username is None:
        raise Invalid("username: required for git over HTTPS, beside the password or token in secret")
    elif not _PASSWORD.fullmatch(new.secret):
        raise Invalid(
            "secret: must be a password or token of 8 to 1000 characters on one line; a private key needs ssh://"
        )
    return base_url, f"{CredentialProvider.GIT} {base_url}"


def _check_ssh(new: NewCredential) -> None:
    if new.known_hosts is None:
        raise Invalid("known_hosts: required for git over SSH, as `ssh-keyscan HOST` prints it")
    if not new.secret.startswith(_PRIVATE_KEY):
        raise Invalid("secret: must be a private key in the format of OpenSSH, starting with -----BEGIN")
    try:
        load_ssh_private_key(new.secret.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Invalid("secret: must be an OpenSSH private key without a passphrase") from None


def _base_url(new: NewCredential, settings: Settings, *, schemes: tuple[str, ...]) -> str:
    try:
        return check_url(new.base_url or "", private=settings.egress_private, schemes=schemes)
    except DestinationRefused as error:
        raise DestinationRefused(f"base_url: {error}") from None
