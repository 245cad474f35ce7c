"""What the image of the repository's Dockerfile holds, for every provider that uses it."""

from omoi_os.providers.base import Runtime

#: The Dockerfile installs the package here.
IMAGE_RUNTIME = Runtime(python="/opt/omoi/bin/python", source="/opt/omoi/site")

#: The user that everything in a sandbox runs as, where the provider does not choose a private one.
IMAGE_UID = 1000
