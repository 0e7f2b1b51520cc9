"""Requests to the hub, with timeouts, retries and errors in one line.

The HTTP client is huggingface_hub's own, so its proxies, certificates and client factory apply. `HfApi` is not used for
listing because it has no timeout there and sleeps through rate limits.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import get_session
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import hf_raise_for_status, parse_ratelimit_headers

from specchat import __version__
from specchat.errors import HubError
from specchat.models.control import Control, RetryPolicy
from specchat.models.environment import access_token, hub_environment
from specchat.terminal.filter import clean_line

# Its warnings would print text from the server to the terminal unfiltered. Errors are reported here instead.
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

_RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
_OFFLINE = "HF_HUB_OFFLINE is set, so the hub is not asked: unset it, or use a model that `specchat models ls` lists"

Answer = TypeVar("Answer")


class TemporaryError(Exception):
    """A request failed in a way that may pass. `wait` is the number of seconds that the server asks to wait, if any."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class UnknownRepositoryError(HubError):
    """The repository does not exist, or this user may not see it."""


@contextmanager
def request(
    url: str,
    *,
    method: str = "GET",
    redirects: bool = True,
    params: Mapping[str, str | int | list[str]] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float,
) -> Iterator[httpx2.Response]:
    """The response to one request, its body not read yet. The token is not sent to other hosts after a redirect.

    Raises TemporaryError for failures that may pass, also while the body is read, and HubError for all others.
    """
    if hub_environment().offline:
        raise HubError(_OFFLINE)
    own = own_headers()
    sent = {**own, "Accept-Encoding": "identity", **(headers or {})}
    host = clean_line(urlsplit(url).netloc) or clean_line(url)
    try:
        with get_session().stream(
            method, url, params=params, headers=sent, timeout=timeout, follow_redirects=redirects
        ) as response:
            if response.status_code in _RETRYABLE:
                raise TemporaryError(_busy(response), requested_wait(response.headers))
            if response.is_error:
                with contextlib.suppress(httpx2.HTTPError):
                    response.read()
            hf_raise_for_status(response)
            yield response
    except OfflineModeIsEnabled:
        raise HubError(_OFFLINE) from None
    except HfHubHTTPError as error:
        raise _hub_error(error, url, logged_in="Authorization" in own) from None
    except httpx2.TooManyRedirects:
        raise HubError(f"{host} redirects in circles: try again later, or another HF_ENDPOINT") from None
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
        raise HubError(f"the hub's address {clean_line(url)} cannot be used: correct HF_ENDPOINT") from None
    except httpx2.TimeoutException:
        raise TemporaryError(f"{host} sent nothing for {timeout:g} s") from None
    except httpx2.ConnectError as error:
        raise TemporaryError(f"{host} cannot be reached: {clean_line(str(error)) or 'no connection'}") from None
    except httpx2.HTTPError as error:
        why = clean_line(str(error)) or type(error).__name__
        raise TemporaryError(f"the connection to {host} broke: {why}") from None


def own_headers() -> dict[str, str]:
    """The headers that identify specchat and its user. They contain the token, so they are for the hub only."""
    token = access_token()
    return {"User-Agent": f"specchat/{__version__}", **({"Authorization": f"Bearer {token}"} if token else {})}


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """The number of seconds that a busy server asks to wait; None if it does not say."""
    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isdigit() else None


def with_retries(attempt: Callable[[], Answer], retry: RetryPolicy, control: Control) -> Answer:
    """The result of the first attempt that succeeds. Raises HubError after the last retry, and Stopped."""
    failures = 0
    while True:
        control.check()
        try:
            return attempt()
        except TemporaryError as error:
            failures += 1
            control.sleep(wait_before_retry(error, failures, retry))


def wait_before_retry(error: TemporaryError, failures: int, retry: RetryPolicy) -> float:
    """The wait after this many failures in a row, in seconds. Raises HubError if it is too long or no retry is left."""
    if error.wait is not None and error.wait > retry.longest_retry_after:
        raise HubError(f"{error} and asks to wait {error.wait:.0f} s: run this again then")
    if failures >= retry.attempts:
        raise HubError(f"{error}, {failures} times in a row: check the connection and run this again later")
    return max(retry.wait_after(failures), error.wait or 0.0)


def _busy(response: httpx2.Response) -> str:
    host = clean_line(response.url.netloc.decode("ascii", "replace"))
    return f"{host} {'asks to slow down' if response.status_code == 429 else f'answers {response.status_code}'}"


def _hub_error(error: HfHubHTTPError, url: str, *, logged_in: bool) -> HubError:
    """What an error of huggingface_hub means, and what the user can do about it."""
    what = _repository(url)
    if isinstance(error, GatedRepoError):
        page = f"{hub_environment().endpoint}/{what}"
        login = "" if logged_in else ", log in with `hf auth login` (or set HF_TOKEN)"
        return HubError(f"{what} is gated: accept its conditions on {page}{login}, then run this again")
    if isinstance(error, RepositoryNotFoundError):
        private = "it may be private to another account" if logged_in else "if it is private, run `hf auth login` first"
        return UnknownRepositoryError(f"there is no repository {what} on the hub: check its name; {private}")
    if isinstance(error, RevisionNotFoundError | RemoteEntryNotFoundError):
        return HubError(f"{what} has changed: list its files again with `specchat models files {what}`")
    if isinstance(error, DisabledRepoError):
        return HubError(f"{what} was disabled by the hub: choose another repository")
    status = error.response.status_code
    if status == 401 and logged_in:
        return HubError("the hub does not accept your token: log in again with `hf auth login`, or correct HF_TOKEN")
    if status == 401:
        return HubError(f"{what} wants a token: log in with `hf auth login`, or set HF_TOKEN")
    if status == 416:
        return HubError(f"the server has fewer bytes of a file of {what} than the hub lists: try again later")
    reason = clean_line(str(error.server_message or "no reason given"))[:200]
    login = "log in with `hf auth login` if it needs a token, " if status == 403 and not logged_in else ""
    return HubError(f"{what} is refused with status {status}: {reason}; {login}try again later, or another HF_ENDPOINT")


def _repository(url: str) -> str:
    path = url.split("?")[0].removeprefix(hub_environment().endpoint).lstrip("/").removeprefix("api/models")
    return clean_line("/".join(path.lstrip("/").split("/")[:2])) or "the hub"
