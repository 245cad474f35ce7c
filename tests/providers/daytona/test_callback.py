"""Addresses at which remote sandboxes can reach the gateway, and those at which they cannot."""

import pytest

from omoi_os.errors import ConfigError
from omoi_os.providers.daytona.callback import check_callback

FAR = "https://app.daytona.io/api"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:18001",
        "http://LOCALHOST.:18001",
        "https://gateway.localhost",
        "http://127.0.0.1:18001",
        "http://127.9.9.9",
        "http://0.0.0.0:18001",
        "http://[::1]:18001",
        "http://[::ffff:127.0.0.1]:18001",
    ],
)
def test_an_address_that_leads_back_into_the_sandbox_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="points to the sandbox itself"):
        check_callback(url, api_url=FAR)

    assert check_callback(url, api_url="http://127.0.0.1:3000/api") == url


@pytest.mark.parametrize("url", ["https://omoi.example.org", "http://10.0.0.5:18001", "https://localhost.example.org"])
def test_an_address_on_the_network_is_taken(url: str) -> None:
    assert check_callback(url, api_url=FAR) == url


@pytest.mark.parametrize("url", [None, "", "omoi.example.org", "ftp://omoi.example.org", "https://"])
def test_an_invalid_address_is_refused(url: str | None) -> None:
    with pytest.raises(ConfigError, match="CALLBACK_URL must be"):
        check_callback(url, api_url=FAR)
