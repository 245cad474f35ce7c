"""Checks that Daytona's sandboxes can reach the gateway at the configured address."""

import ipaddress
from urllib.parse import urlsplit

from omoi_os.errors import ConfigError


def check_callback(callback_url: str | None, *, api_url: str) -> str:
    """Return the gateway's address for the sandboxes. Raises `ConfigError` if they could not reach it."""
    if not callback_url:
        raise ConfigError("CALLBACK_URL must be set for Daytona: the address at which its sandboxes reach the gateway.")
    parts = urlsplit(callback_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"CALLBACK_URL must be an http or https address, not {callback_url!r}.")
    if is_loopback(callback_url) and not is_loopback(api_url):
        raise ConfigError(
            f"CALLBACK_URL {callback_url} points to the sandbox itself: "
            "set it to an address of the gateway that Daytona's sandboxes can reach over the network."
        )
    return callback_url


def is_loopback(url: str) -> bool:
    """Return whether the address is that of the machine that uses it."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified
