"""The hub: which repositories hold GGUF models, and which files these are."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from specchat.errors import HubError
from specchat.models.environment import hub_environment
from specchat.models.hub_files import HubFile, is_digest, is_safe_path
from specchat.models.names import Group, choose, group
from specchat.models.patience import Control, Patience
from specchat.models.refusals import UnknownRepositoryError
from specchat.models.retry import persistently
from specchat.models.transport import answer

_LARGEST_ANSWER = 32 * 2**20
_REPOSITORY = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?/[\w](?:[\w.-]*[\w])?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """One result of a search. `parameters` is None where the hub does not say."""

    id: str
    downloads: int
    likes: int
    gated: bool
    parameters: int | None
    architecture: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a repository holds: its models, smallest first."""

    repository: str
    commit: str
    gated: bool
    models: tuple[Group[HubFile], ...]

    def choose(self, wanted: str = "") -> Group[HubFile]:
        """The model with this quantisation or file name, or the usual choice. Raises HubError, naming what there is."""
        found = choose(self.models, wanted)
        if found is None:
            what = f"no {wanted}" if wanted else "no GGUF file"
            there = ", ".join(dict.fromkeys(model.quantisation or model.path for model in self.models))
            rest = f"there are {there}" if there else "search for one whose name ends in GGUF"
            raise HubError(f"{self.repository} has {what}: {rest}")
        if found.missing:
            raise HubError(f"{self.repository} lacks {found.missing[0]}, a part of {found.path}: choose another model")
        return found


class Hub:
    """Asks the hub. Every method raises HubError, in one line with what to do, and Stopped when cancelled."""

    def __init__(self, patience: Patience | None = None, control: Control | None = None) -> None:
        self.patience = patience or Patience()
        self.control = control or Control()

    def search(self, text: str, limit: int = 20) -> list[FoundRepository]:
        """The repositories with GGUF files whose names have these words, most downloaded first."""
        wanted = ["downloads", "likes", "gated", "gguf"]
        params = {"search": text, "filter": "gguf", "sort": "downloads", "limit": limit, "expand": wanted}
        items = self._get("/api/models", params)
        if not isinstance(items, list):
            raise _no_hub()
        return [found for item in items if (found := _found(item)) is not None]

    def files(self, repository: str) -> Listing:
        """The GGUF models of a repository. Names that come close are in the message where there is none such."""
        if not _REPOSITORY.fullmatch(repository) or ".." in repository or len(repository) > 193:
            raise HubError(f"{repository!r} is no repository: use USER/REPO")
        try:
            info = self._get(f"/api/models/{repository}", {"blobs": "true"})
        except UnknownRepositoryError as error:
            raise HubError(f"{error}{self._close_names(repository)}") from None
        if not isinstance(info, dict) or not _COMMIT.fullmatch(str(info.get("sha"))):
            raise _no_hub()
        files = [file for file in _files(repository, info) if file is not None]
        return Listing(repository, str(info["sha"]), bool(info.get("gated")), tuple(group(files)))

    def _get(self, path: str, params: Mapping[str, Any]) -> Any:
        def once() -> Any:
            url = f"{hub_environment().endpoint}{path}"
            with answer(url, params=params, silence=self.patience.silence) as response:
                body = bytearray()
                for piece in response.iter_bytes():
                    self.control.check()
                    body += piece
                    if len(body) > _LARGEST_ANSWER:
                        raise _no_hub()
            try:
                return json.loads(body)
            except (ValueError, RecursionError):
                raise _no_hub() from None

        return persistently(once, self.patience, self.control)

    def _close_names(self, repository: str) -> str:
        name = repository.split("/")[1]
        words = re.split(r"[-_.]", name)
        names: list[str] = []
        for query in dict.fromkeys((name, " ".join(words[:2]), words[0])):
            try:
                names += [found.id for found in self.search(query)]
            except HubError:
                break
            if names:
                break
        close = difflib.get_close_matches(repository, names, 3, 0.5) or names[:3]
        return f"; close are {', '.join(close)}" if close else ""


def _no_hub() -> HubError:
    return HubError(f"{hub_environment().endpoint} does not answer as a hub does: correct HF_ENDPOINT, or log in first")


def _found(item: object) -> FoundRepository | None:
    if not isinstance(item, dict) or not _REPOSITORY.fullmatch(str(item.get("id"))):
        return None
    gguf = item.get("gguf")
    about: Mapping[str, Any] = gguf if isinstance(gguf, dict) else {}
    return FoundRepository(
        id=str(item["id"]),
        downloads=_number(item.get("downloads")) or 0,
        likes=_number(item.get("likes")) or 0,
        gated=bool(item.get("gated")),
        parameters=_number(about.get("total")),
        architecture=str(about.get("architecture") or ""),
    )


def _files(repository: str, info: Mapping[str, Any]) -> Iterator[HubFile | None]:
    siblings = info.get("siblings")
    for item in siblings if isinstance(siblings, list) else ():
        if not isinstance(item, dict):
            continue
        path, lfs = item.get("rfilename"), item.get("lfs")
        digest = lfs.get("sha256") if isinstance(lfs, dict) else item.get("blobId")
        size = _number(lfs.get("size") if isinstance(lfs, dict) else item.get("size"))
        if not isinstance(path, str) or not is_safe_path(path) or size is None or not is_digest(digest):
            continue
        yield HubFile(repository, str(info["sha"]), path, size, str(digest))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
