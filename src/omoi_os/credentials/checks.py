"""Checks a credential with one cheap call to its host."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import aiohttp

from omoi_os.config import DEFAULT_MODEL, Settings
from omoi_os.credentials.kinds import MODELS, CheckResult, CredentialProvider
from omoi_os.credentials.models import Credential
from omoi_os.errors import DestinationRefused
from omoi_os.system.destinations import check_url, checked_connector, resolve

_TIMEOUT = aiohttp.ClientTimeout(total=10)
_REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN)
#: What hosts that have no list of models answer.
_NO_LIST = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
_API_VERSION = "2023-06-01"


def model_headers(provider: str, secret: str) -> dict[str, str]:
    """Return the headers that authenticate a model call. Compatible hosts differ in which of the two they read."""
    headers = {"x-api-key": secret}
    if provider == CredentialProvider.ANTHROPIC_COMPATIBLE:
        headers["Authorization"] = f"Bearer {secret}"
    return headers


async def require_allowed(settings: Settings, base_url: str) -> None:
    """Raise `DestinationRefused` if a checked URL names a host whose address may not be reached.

    A name that cannot be resolved now is accepted: it is resolved and checked again whenever the host is called.
    """
    parts = urlsplit(base_url)
    try:
        await resolve(parts.hostname or "", parts.port or 443, private=settings.egress_private)
    except DestinationRefused as error:
        raise DestinationRefused(f"base_url: {error}") from None
    except OSError:
        return


async def check(settings: Settings, credential: Credential, secret: str) -> CheckResult | None:
    """Return what the credential's host says about it; None for git, which can only be checked with a repository."""
    if credential.provider not in (*MODELS, CredentialProvider.GITHUB):
        return None
    try:
        async with _session(settings, credential) as http:
            if credential.provider == CredentialProvider.GITHUB:
                return await _check_github(http, settings, secret)
            return await _check_model(http, settings, credential, secret)
    except (aiohttp.ClientError, TimeoutError, DestinationRefused):
        return CheckResult.UNREACHABLE


def _session(settings: Settings, credential: Credential) -> aiohttp.ClientSession:
    """Return a client that reaches only public addresses, unless the settings name the host."""
    connector = aiohttp.TCPConnector()
    if credential.base_url is not None:
        check_url(credential.base_url, private=settings.egress_private)
        connector = checked_connector(settings.egress_private)
    return aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT, cookie_jar=aiohttp.DummyCookieJar())


async def _check_github(http: aiohttp.ClientSession, settings: Settings, secret: str) -> CheckResult:
    headers = {"Authorization": f"Bearer {secret}", "Accept": "application/vnd.github+json"}
    url = f"{settings.github_api_url.rstrip('/')}/user"
    async with http.get(url, headers=headers, allow_redirects=False) as answer:
        # A used-up rate limit is answered with 403 too.
        if answer.headers.get("x-ratelimit-remaining") == "0":
            return CheckResult.UNREACHABLE
        return _result(answer.status)


async def _check_model(
    http: aiohttp.ClientSession, settings: Settings, credential: Credential, secret: str
) -> CheckResult:
    base_url = credential.base_url or settings.anthropic_base_url.rstrip("/")
    headers = {**model_headers(credential.provider, secret), "anthropic-version": _API_VERSION}
    async with http.get(f"{base_url}/v1/models?limit=1", headers=headers, allow_redirects=False) as answer:
        if answer.status not in _NO_LIST:
            return _result(answer.status)
    return await _try_model(http, base_url, credential.model or settings.model or DEFAULT_MODEL, headers)


async def _try_model(http: aiohttp.ClientSession, base_url: str, model: str, headers: Mapping[str, str]) -> CheckResult:
    """Ask for a single token: some compatible hosts have no list of models."""
    body = json.dumps({"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]})
    sent = {**headers, "Content-Type": "application/json"}
    async with http.post(f"{base_url}/v1/messages", data=body, headers=sent, allow_redirects=False) as answer:
        return _result(answer.status)


def _result(status: int) -> CheckResult:
    if status in _REFUSALS:
        return CheckResult.REFUSED
    # A host that limits the rate of a key knows the key.
    is_ok = status < HTTPStatus.MULTIPLE_CHOICES or status == HTTPStatus.TOO_MANY_REQUESTS
    return CheckResult.OK if is_ok else CheckResult.UNREACHABLE
