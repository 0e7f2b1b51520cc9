"""The hub: searching for repositories with GGUF models, and listing the models of a repository."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from specchat.errors import HubError
from specchat.models.control import Control, RetryPolicy
from specchat.models.environment import hub_environment
from specchat.models.model_files import HubFile, ModelFileGroup, choose, group
from specchat.models.transport import UnknownRepositoryError, request, with_retries
from specchat_engine.codec import from_json

_LARGEST_ANSWER = 32 * 2**20
_LONGEST_NAME = 193
_MOST = 2**63
"""No download, like, parameter or byte is counted this far."""

_REPOSITORY = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?/[\w](?:[\w.-]*[\w])?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PAGES = ("https://huggingface.co/", "https://hf.co/", "huggingface.co/", "hf.co/", "hf:")


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """One search result. `parameters` is None if the hub does not say."""

    id: str
    downloads: int
    likes: int
    gated: bool
    parameters: int | None
    architecture: str


@dataclass(frozen=True, slots=True)
class RepositoryListing:
    """The models of a repository at its newest commit, smallest first."""

    repository: str
    commit: str
    gated: bool
    models: tuple[ModelFileGroup[HubFile], ...]

    def choose(self, wanted: str = "") -> ModelFileGroup[HubFile]:
        """The model with this quantisation or file name, or the usual choice. Raises HubError, listing what exists."""
        chosen = choose(self.models, wanted)
        if chosen is None:
            what = f"no {wanted}" if wanted else "no GGUF file"
            there = ", ".join(dict.fromkeys(model.quantisation or model.path for model in self.models))
            rest = f"there are {there}" if there else "search for one whose name ends in GGUF"
            raise HubError(f"{self.repository} has {what}: {rest}")
        if chosen.missing:
            raise HubError(
                f"{self.repository} lacks {chosen.missing[0]}, a part of {chosen.path}: choose another model"
            )
        return chosen


class Hub:
    """A client of the hub. Every method raises HubError, in one line with what to do, and Stopped after a cancel."""

    def __init__(self, retry: RetryPolicy | None = None, control: Control | None = None) -> None:
        self.retry = retry or RetryPolicy()
        self.control = control or Control()

    def search(self, text: str, limit: int = 20) -> list[FoundRepository]:
        """The repositories with GGUF files whose names contain these words, most downloaded first."""
        wanted = ["downloads", "likes", "gated", "gguf"]
        params = {"search": text, "filter": "gguf", "sort": "downloads", "limit": limit, "expand": wanted}
        items = self._get("/api/models", params)
        if not isinstance(items, list):
            raise _not_a_hub()
        return [repository for item in items if (repository := _found(item)) is not None]

    def files(self, repository: str) -> RepositoryListing:
        """The GGUF models of a repository. If there is no such repository, the error suggests similar names."""
        if not _REPOSITORY.fullmatch(repository) or ".." in repository or len(repository) > _LONGEST_NAME:
            raise HubError(f"{repository!r} is not a repository: use USER/REPO")
        try:
            info = self._get(f"/api/models/{repository}", {"blobs": "true"})
        except UnknownRepositoryError as error:
            raise HubError(f"{error}{self._similar_names(repository)}") from None
        if not isinstance(info, dict) or not _COMMIT.fullmatch(str(info.get("sha"))):
            raise _not_a_hub()
        models = group(_files(repository, info))
        return RepositoryListing(repository, str(info["sha"]), bool(info.get("gated")), tuple(models))

    def model(self, reference: str) -> ModelFileGroup[HubFile]:
        """The model that `USER/REPO[:QUANT]` or the address of its page means."""
        repository, wanted = split_reference(reference)
        return self.files(repository).choose(wanted)

    def _get(self, path: str, params: Mapping[str, Any]) -> Any:
        def attempt() -> Any:
            url = f"{hub_environment().endpoint}{path}"
            with request(url, params=params, timeout=self.retry.timeout) as response:
                body = bytearray()
                for piece in response.iter_bytes():
                    self.control.check()
                    body += piece
                    if len(body) > _LARGEST_ANSWER:
                        raise _not_a_hub()
            try:
                return json.loads(body)
            except (ValueError, RecursionError):
                raise _not_a_hub() from None

        return with_retries(attempt, self.retry, self.control)

    def _similar_names(self, repository: str) -> str:
        name = repository.split("/")[1]
        words = re.split(r"[-_.]", name)
        names: list[str] = []
        for query in dict.fromkeys((name, " ".join(words[:2]), words[0])):
            try:
                names = [similar.id for similar in self.search(query)]
            except HubError:
                break
            if names:
                break
        similar = difflib.get_close_matches(repository, names, 3, 0.5) or names[:3]
        return f"; similar names: {', '.join(similar)}" if similar else ""


def split_reference(name: str) -> tuple[str, str]:
    """The repository, and the quantisation or file if one is named, of `USER/REPO[:QUANT]` or a page's address."""
    for page in (f"{hub_environment().endpoint}/", *_PAGES):
        if name.startswith(page):
            name = urlsplit(name.removeprefix(page)).path
            break
    repository, _, wanted = name.strip("/").partition(":")
    repository, _, inside = repository.partition("/blob/main/") if "/blob/" in repository else (repository, "", "")
    return repository.removesuffix("/tree/main"), wanted or inside


def _not_a_hub() -> HubError:
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


def _files(repository: str, info: Mapping[str, Any]) -> Iterator[HubFile]:
    """The files whose listing can be trusted: a safe path, a size and a digest."""
    siblings = info.get("siblings")
    for item in siblings if isinstance(siblings, list) else ():
        if isinstance(item, dict):
            lfs = item.get("lfs")
            about, digest = (lfs, "sha256") if isinstance(lfs, dict) else (item, "blobId")
            path, size, name = item.get("rfilename"), _number(about.get("size")), about.get(digest)
            with suppress(ValueError):
                file = {"repository": repository, "commit": info["sha"], "path": path, "size": size, "digest": name}
                yield from_json(HubFile, file)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None
