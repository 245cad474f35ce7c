"""The contents of the image that the Dockerfile builds, for every provider that uses it."""

from omoi_os.providers.base import Runtime

#: The Dockerfile installs the package here.
IMAGE_RUNTIME = Runtime(python="/opt/omoi/bin/python", source="/opt/omoi/site")

#: The user of every process in a sandbox, unless the provider uses another one.
IMAGE_UID = 1000
