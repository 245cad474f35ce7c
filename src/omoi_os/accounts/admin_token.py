"""The first administrator's API key: from a setting, or generated once and stored in the data folder."""

from pathlib import Path

from omoi_os.config import Settings
from omoi_os.errors import ConfigError, SetupError
from omoi_os.ids import new_token
from omoi_os.system import durable

FILE_NAME = "admin-token"


def token_path(settings: Settings) -> Path:
    """Return the file that stores a generated token."""
    return settings.data_dir / FILE_NAME


def ensure_admin_token(settings: Settings) -> str:
    """Return the token; generate it if there is none. Processes that start at the same time get the same token."""
    if settings.admin_token is not None:
        if settings.admin_token.startswith("sbx_"):
            raise ConfigError("OMOI_ADMIN_TOKEN: must not start with sbx_, the prefix of sandbox tokens")
        return settings.admin_token
    path = token_path(settings)
    try:
        if not path.exists():
            _write_once(path, new_token("omoi"))
        token = path.read_text().strip()
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}; check the folder's owner or set OMOI_ADMIN_TOKEN") from error
    if not token:
        raise SetupError(f"{path} is empty; remove it to generate a new token at the next start")
    return token


def _write_once(path: Path, token: str) -> None:
    """Create the file atomically, unless another process has already created it."""
    durable.make_folder(path.parent)
    durable.create(path, f"{token}\n".encode())
