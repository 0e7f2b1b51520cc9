"""The process that reads a file, a page or the clipboard: `python -m specchat.attachments`, started for each of them.

What a hostile file does costs this process alone: it has a limit of memory and of processor time, and whoever started
it kills it when it takes too long.
"""

from __future__ import annotations

import binascii
import sys
import tempfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Final

from specchat.attachments.protocol import (
    FetchPage,
    FileText,
    Grab,
    Picture,
    ReadFailed,
    Reply,
    Request,
    Unpack,
    decode_request,
    encode,
)
from specchat.pipes import events_pipe, write_all

MEMORY: Final = 2 * 2**30
SECONDS: Final = 60


def main() -> int:
    """Answers the request on standard input."""
    pipe = events_pipe()
    request = decode_request(sys.stdin.buffer.readline())
    if request is None:
        return 1
    _limit()
    write_all(pipe, encode(answered(request)))
    return 0


def answered(request: Request) -> Reply:
    """The text or the picture that was asked for, or why there is none."""
    from specchat.attachments.documents import UnreadableDocument

    try:
        if isinstance(request, FetchPage):
            return _page(request)
        if isinstance(request, Grab):
            from specchat.attachments.clipboard import picture_in_clipboard

            return picture_in_clipboard(request.seconds)
        if isinstance(request, Unpack):
            return _unpacked(request.data)
        return _converted(Path(request.path), request.kind, request.longest)
    except UnreadableDocument as error:
        return ReadFailed(str(error))
    except ImportError as error:
        return ReadFailed(f"needs the extra specchat[files]: pip install 'specchat[files]' ({error})")
    except MemoryError:
        return ReadFailed("needs too much memory to be read")
    except RecursionError:
        return ReadFailed("is nested too deep to be read")
    except Exception as error:  # noqa: BLE001 - whatever a library raises for a damaged file ends up in one line
        return ReadFailed(f"cannot be read, it is probably damaged: {type(error).__name__}: {error}")


def _converted(path: Path, kind: str, longest: int) -> Reply:
    from specchat.attachments.documents import text_of
    from specchat.attachments.pictures import picture_of

    return picture_of(path) if kind == "image" else FileText(text_of(path, kind, longest))


def _page(request: FetchPage) -> Reply:
    from specchat.attachments.documents import UnreadableDocument
    from specchat.attachments.kinds import kind_of_name, kind_of_type
    from specchat.attachments.pages import fetched

    content, media = fetched(request.url, request.seconds)
    kind = kind_of_type(media) or kind_of_name(request.url.partition("?")[0])
    if kind is None:
        raise UnreadableDocument(f"is {media.partition(';')[0]}, which cannot be read")
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return _converted(Path(file.name), kind, request.longest)


def _unpacked(data: str) -> Picture:
    from specchat.attachments.documents import UnreadableDocument
    from specchat.attachments.pictures import picture_of

    data = "".join(data.split())
    try:
        content = binascii.a2b_base64(data + "=" * (-len(data) % 4), strict_mode=True)
    except ValueError:
        raise UnreadableDocument("is not in base 64") from None
    return picture_of(BytesIO(content))


def _limit() -> None:
    """Limits what this process may use, as far as the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    sys.exit(main())
