"""The provider `daytona` as the settings describe it."""

from omoi_os.config import Settings
from omoi_os.errors import ConfigError
from omoi_os.providers.daytona.params import Account, Source
from omoi_os.providers.daytona.provider import DaytonaProvider


def make(settings: Settings) -> DaytonaProvider:
    """Raises `ConfigError`, naming the setting, if it cannot work so."""
    if not settings.daytona_api_key:
        raise ConfigError("DAYTONA_API_KEY must be set for the provider daytona.")
    account = Account(settings.daytona_api_key, settings.daytona_api_url, settings.daytona_target)
    source = Source(settings.sandbox_snapshot or None, settings.sandbox_image or None)
    return DaytonaProvider(account, callback_url=settings.callback_url, source=source)
