"""One request to the hub, and what can come back, in words.

The client is huggingface_hub's own, so that its proxies, certificates and client factory apply. Listing through `HfApi`
would have no time-out and sleep through rate limits, so requests are made here, with limits on both.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import get_session
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.utils import hf_raise_for_status, parse_ratelimit_headers

from specchat import __version__
from specchat.errors import HubError
from specchat.models.environment import access_token, hub_environment
from specchat.models.refusals import refusal
from specchat.terminal.filter import clean_line

# Its warnings would bring what a server wrote to the terminal as it is; errors are told here, in words.
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which trying again makes sense."""

_OFFLINE = "HF_HUB_OFFLINE is set, so the hub is not asked: unset it, or use a model that `specchat models ls` lists"


class TryAgain(Exception):
    """A request that failed in a way that may pass; `wait` is what the server asked for, in seconds."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


@contextmanager
def answer(
    url: str,
    *,
    method: str = "GET",
    redirects: bool = True,
    params: Mapping[str, str | int | list[str]] | None = None,
    headers: Mapping[str, str] | None = None,
    silence: float,
) -> Iterator[httpx2.Response]:
    """The answer to a request, its body not read yet; where `redirects` are followed, the token stays with the hub.

    Raises TryAgain for what may pass, also while the body is read, and HubError for what will not.
    """
    if hub_environment().offline:
        raise HubError(_OFFLINE)
    own = own_headers()
    sent = {**own, "Accept-Encoding": "identity", **(headers or {})}
    host = clean_line(urlsplit(url).netloc) or clean_line(url)
    try:
        with get_session().stream(
            method, url, params=params, headers=sent, timeout=silence, follow_redirects=redirects
        ) as response:
            if response.status_code in _BUSY:
                raise TryAgain(_trouble(response), asked_wait(response.headers))
            if response.is_error:
                with contextlib.suppress(httpx2.HTTPError):
                    response.read()
            hf_raise_for_status(response)
            yield response
    except OfflineModeIsEnabled:
        raise HubError(_OFFLINE) from None
    except HfHubHTTPError as error:
        raise refusal(error, url, logged_in="Authorization" in own) from None
    except httpx2.TooManyRedirects:
        raise HubError(f"{host} redirects in circles: try again later, or another HF_ENDPOINT") from None
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
        raise HubError(f"the hub's address {clean_line(url)} cannot be used: correct HF_ENDPOINT") from None
    except httpx2.TimeoutException:
        raise TryAgain(f"{host} said nothing for {silence:g} s") from None
    except httpx2.ConnectError as error:
        raise TryAgain(f"{host} cannot be reached: {clean_line(str(error)) or 'no connection'}") from None
    except httpx2.HTTPError as error:
        raise TryAgain(f"the connection to {host} broke: {clean_line(str(error)) or type(error).__name__}") from None


def own_headers() -> dict[str, str]:
    """Who asks: for the hub only, since a login is in them."""
    token = access_token()
    return {"User-Agent": f"specchat/{__version__}", **({"Authorization": f"Bearer {token}"} if token else {})}


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that a busy server asks to be left alone; None where it does not say."""
    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return float(limit.reset_in_seconds)
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isdigit() else None


def _trouble(response: httpx2.Response) -> str:
    host = clean_line(response.url.netloc.decode("ascii", "replace"))
    return f"{host} {'asks to slow down' if response.status_code == 429 else f'answers {response.status_code}'}"
