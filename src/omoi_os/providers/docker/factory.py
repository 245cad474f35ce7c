"""Creates the docker provider from the settings."""

from omoi_os.config import Settings
from omoi_os.providers.base import SandboxProvider
from omoi_os.providers.docker.provider import DEFAULT_IMAGE, DockerProvider


def make(settings: Settings) -> SandboxProvider:
    """Return the provider for the engine of DOCKER_HOST, or of the default socket.

    Raises `SetupError`, with the remedy, if the engine or the image is missing.
    """
    provider = DockerProvider(image=settings.sandbox_image or DEFAULT_IMAGE, site=lambda: settings.site)
    provider.check()
    return provider
