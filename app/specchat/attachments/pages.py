"""A page from the web, as bytes with a media type: within limits of size and time, and only from the web."""

from __future__ import annotations

from time import monotonic
from typing import Final

import httpx2

from specchat.attachments.documents import UnreadableDocument
from specchat.attachments.protocol import LARGEST_FILE
from specchat_engine.version import __version__

_MOST_REDIRECTS: Final = 8
_SILENCE: Final = 10.0


def fetched(url: str, seconds: float) -> tuple[bytes, str]:
    """What a GET of this address gives, and its media type. Raises Unreadable."""
    end = monotonic() + seconds
    headers = {
        "User-Agent": f"specchat/{__version__}",
        "Accept": "text/html, text/*;q=0.9, application/pdf, image/*, */*",
    }
    content = bytearray()
    try:
        with (
            httpx2.Client(follow_redirects=True, max_redirects=_MOST_REDIRECTS, timeout=_SILENCE) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.is_error:
                raise UnreadableDocument(f"cannot be fetched: the server answers {response.status_code}")
            for part in response.iter_bytes():
                content += part
                if len(content) > LARGEST_FILE:
                    raise UnreadableDocument(f"has more than {LARGEST_FILE >> 20} MiB, which is the limit")
                if monotonic() > end:
                    raise UnreadableDocument(f"took more than {seconds:g} seconds to arrive")
            return bytes(content), response.headers.get("content-type", "text/plain")
    except httpx2.TimeoutException:
        raise UnreadableDocument(f"cannot be fetched: the server sent nothing for {_SILENCE:g} seconds") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UnreadableDocument(f"cannot be fetched: {error or type(error).__name__}") from None
