"""What credentials are for, and what their checks find."""

from enum import StrEnum


class CredentialProvider(StrEnum):
    """What a credential is for."""

    ANTHROPIC = "anthropic"  #: an API key of Anthropic
    ANTHROPIC_COMPATIBLE = "anthropic_compatible"  #: a key of another host that speaks the Messages API
    GITHUB = "github"  #: a personal token of GitHub
    GIT = "git"  #: an SSH key, or a user name and password, for one git host


#: The providers of models. A person has one default for all of them.
MODELS = frozenset({CredentialProvider.ANTHROPIC, CredentialProvider.ANTHROPIC_COMPATIBLE})

#: What `used_for` holds for the providers of models.
MODEL = "model"


class CheckResult(StrEnum):
    """What the last check of a credential found."""

    OK = "ok"  #: its host accepts it
    REFUSED = "refused"  #: its host refuses it
    UNREACHABLE = "unreachable"  #: its host does not answer, or not as expected
