"""The first administrator's API key: given by a setting, or made once and kept in the data folder."""

from pathlib import Path

from omoi_os.config import Settings
from omoi_os.errors import ConfigError, SetupError
from omoi_os.ids import new_token
from omoi_os.system import durable

FILE_NAME = "admin-token"


def token_path(settings: Settings) -> Path:
    """Where a made token is kept."""
    return settings.data_dir / FILE_NAME


def ensure_admin_token(settings: Settings) -> str:
    """The token. However many processes start at once, they all get the same one."""
    if settings.admin_token is not None:
        if settings.admin_token.startswith("sbx_"):
            raise ConfigError("OMOI_ADMIN_TOKEN: must not begin with sbx_, which marks a sandbox's token")
        return settings.admin_token
    path = token_path(settings)
    try:
        if not path.exists():
            _write_once(path, new_token("omoi"))
        token = path.read_text().strip()
    except OSError as error:
        raise SetupError(f"{path}: {error.strerror}; check the folder's owner or set OMOI_ADMIN_TOKEN") from error
    if not token:
        raise SetupError(f"{path} is empty; remove it, and a new token is made at the next start")
    return token


def _write_once(path: Path, token: str) -> None:
    """Write the file whole, private and durably, unless another process was first: the first writer's token stays."""
    durable.make_folder(path.parent)
    durable.create(path, f"{token}\n".encode())
