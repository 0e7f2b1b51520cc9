"""A local hub that speaks the protocol of huggingface.co and injects faults on request.

The hub and its CDN are two servers on two ports, so that a redirect from one to the other changes the origin, as with
the real hub: a token must not be sent along.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1
from urllib.parse import parse_qs, unquote, urlsplit

from support.hub_faults import Fault, Faults
from support.hub_serving import Asked, Handler, git_oid, serving, sha256_of, xet_name_of

TOKEN = "hf_test"
XET_TOKEN = "xet_test"


@dataclass
class Repository:
    """A repository and its access rules. The name of a dataset begins with `datasets/`."""

    files: dict[str, bytes]
    gated: bool = False
    downloads: int = 0
    plain_git: bool = False
    """Files are stored in git itself: there is no redirect and no SHA-256."""

    @property
    def commit(self) -> str:
        """A commit that depends on the files."""
        digest = sha1(usedforsecurity=False)
        for name, content in sorted(self.files.items()):
            digest.update(f"{name} {sha256_of(content)} ".encode())
        return digest.hexdigest()


@dataclass
class Hub:
    """The state that both servers share; change it while they run."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    may_read_gated: bool = True
    """True if the token's user has accepted the conditions of gated models."""

    page_size: int = 1000
    asked: list[Asked] = field(default_factory=list)
    faults: Faults = field(default_factory=lambda: Faults(()))
    stopping: threading.Event = field(default_factory=threading.Event)
    slow: float = 0.0
    """Seconds between pieces of 16 KiB of a file, or between bytes at its end."""
    url: str = ""
    cdn: str = ""
    storage: str = ""
    """The address of the Xet storage; empty if the hub has none."""

    renamed: dict[str, str] = field(default_factory=dict)
    """The new names of renamed repositories, by the old ones."""

    def misbehave(self, *faults: Fault) -> None:
        """Replaces the pending faults."""
        self.faults = Faults(faults)

    def transfers(self) -> list[Asked]:
        """The requests for the contents of files."""
        return [asked for asked in self.asked if asked.server == "cdn" and asked.method == "GET"]


@contextmanager
def running_hub(repositories: Mapping[str, Repository] | None = None) -> Iterator[Hub]:
    """Both servers on free ports until the end of the block."""
    hub = Hub(dict(repositories or {}))
    with serving(hub, HubHandler) as hub.url, serving(hub, CdnHandler) as hub.cdn:
        yield hub


class HubHandler(Handler):
    """huggingface.co: search, the files of a repository, and where they are."""

    name = "hub"

    @property
    def token(self) -> str:
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def route(self) -> None:
        path = unquote(urlsplit(self.path).path)
        query = parse_qs(urlsplit(self.path).query)
        if path.startswith("/api/") and self.misbehaved(self.hub.faults.take(api=True)):
            return
        if path.startswith("/api/datasets/"):
            user, name, *rest = path.removeprefix("/api/datasets/").split("/")
            self._repository(f"datasets/{user}/{name}", rest, query)
            return
        name = "/".join(path.removeprefix("/api/models").split("/")[1:3])
        if name in self.hub.renamed:
            self.reply(307, b"", {"Location": self.path.replace(name, self.hub.renamed[name])})
        elif path == "/api/models":
            self._search(query)
        elif path.startswith("/api/models/"):
            user, name, *rest = path.removeprefix("/api/models/").split("/")
            self._repository(f"{user}/{name}", rest, query)
        elif "/resolve/" in path:
            repo, rest_of_path = path.lstrip("/").split("/resolve/", 1)
            self._resolve(repo, *rest_of_path.split("/", 1))
        else:
            self.refuse(404, "", "Not Found")

    def _search(self, query: Mapping[str, list[str]]) -> None:
        word = query.get("search", [""])[0].lower()
        author = query.get("author", [""])[0]
        wanted = query.get("filter", [])
        found = [
            {**self._info(name, repository), "downloads": repository.downloads}
            for name, repository in self.hub.repositories.items()
            if all(part in name.lower() for part in word.split()) and name.startswith(author)
            if "gguf" not in wanted or any(file.endswith(".gguf") for file in repository.files)
        ]
        if query.get("sort") == ["downloads"]:
            found.sort(key=lambda item: -int(str(item["downloads"])))
        limit = min(int(query.get("limit", ["1000"])[0]), self.hub.page_size)
        start = int(query.get("cursor", ["0"])[0])
        headers = {}
        if start + limit < len(found):
            rest = "&".join(f"{key}={value}" for key, values in query.items() if key != "cursor" for value in values)
            headers["Link"] = f'<{self.hub.url}/api/models?{rest}&cursor={start + limit}>; rel="next"'
        self.json(found[start : start + limit], headers)

    def _info(self, name: str, repository: Repository) -> dict[str, object]:
        tags = ["gguf"] if any(file.endswith(".gguf") for file in repository.files) else []
        gguf = {"total": 1000, "architecture": "llama", "context_length": 512} if tags else None
        return {
            **{"_id": name, "id": name, "modelId": name, "sha": repository.commit, "private": False, "likes": 3},
            **{"gated": "manual" if repository.gated else False, "tags": tags, "gguf": gguf},
            "lastModified": "2026-01-02T03:04:05.000Z",
        }

    def _repository(self, name: str, rest: list[str], query: Mapping[str, list[str]]) -> None:
        repository = self._find(name)
        if repository is None:
            return
        if rest[:1] == ["tree"] or not rest or rest[:1] == ["revision"]:
            revision = rest[1] if len(rest) > 1 else "main"
            if revision not in ("main", repository.commit):
                self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
                return
        if rest[:1] == ["xet-read-token"]:
            self._xet_token(name, repository)
            return
        if rest[:1] == ["tree"]:
            self.json([self._tree_entry(repository, path) for path in sorted(repository.files)])
            return
        blobs = query.get("blobs", [""])[0].lower() == "true"
        siblings = [self._sibling(repository, path, blobs=blobs) for path in sorted(repository.files)]
        self.json({**self._info(name, repository), "siblings": siblings})

    def _xet_token(self, name: str, repository: Repository) -> None:
        if self._refused(name, repository):
            return
        token, expiry, url = XET_TOKEN, int(time.time()) + 3600, self.hub.storage
        headers = {"X-Xet-Access-Token": token, "X-Xet-Token-Expiration": str(expiry), "X-Xet-Cas-Url": url}
        self.json({"accessToken": token, "exp": expiry, "casUrl": url}, headers)

    def _refused(self, name: str, repository: Repository) -> bool:
        may_read = not repository.gated or (self.token == TOKEN and self.hub.may_read_gated)
        if not may_read:
            status = 403 if self.token else 401
            self.refuse(status, "GatedRepo", f"Access to model {name} is restricted.")
        return not may_read

    def _tree_entry(self, repository: Repository, path: str) -> dict[str, object]:
        content = repository.files[path]
        entry: dict[str, object] = {"type": "file", "path": path, "size": len(content), "oid": git_oid(content)}
        if not repository.plain_git:
            entry["lfs"] = {"oid": sha256_of(content), "size": len(content), "pointerSize": 134}
            entry |= {"xetHash": xet_name_of(content)} if self.hub.storage else {}
        return entry

    def _sibling(self, repository: Repository, path: str, *, blobs: bool) -> dict[str, object]:
        content = repository.files[path]
        if not blobs:
            return {"rfilename": path}
        sibling: dict[str, object] = {"rfilename": path, "size": len(content), "blobId": git_oid(content)}
        if not repository.plain_git:
            sibling["lfs"] = {"sha256": sha256_of(content), "size": len(content), "pointerSize": 134}
        return sibling

    def _resolve(self, name: str, revision: str, path: str) -> None:
        repository = self._find(name)
        if repository is None:
            return
        if self._refused(name, repository):
            return
        if revision not in ("main", repository.commit):
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        if path not in repository.files:
            self.refuse(404, "EntryNotFound", f"{path} does not exist")
            return
        content = repository.files[path]
        common = {"X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        if repository.plain_git:
            self.file(content, git_oid(content), common)
            return
        digest = sha256_of(content)
        if self.hub.storage:
            token = f"{self.hub.url}/api/models/{name}/xet-read-token/{repository.commit}"
            common |= {"X-Xet-Hash": xet_name_of(content), "Link": f'<{token}>; rel="xet-auth"'}
        self.reply(
            302,
            b"",
            {
                **common,
                "X-Linked-Etag": f'"{digest}"',
                "X-Linked-Size": str(len(content)),
                "ETag": f'"{git_oid(content)}"',
                "Location": f"{self.hub.cdn}/{digest}?signed=yes",
            },
        )

    def _find(self, name: str) -> Repository | None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            self.refuse(404 if self.token else 401, "RepoNotFound", "Repository not found")
        return repository


class CdnHandler(Handler):
    """The server of the large files, by their SHA-256."""

    name = "cdn"

    def route(self) -> None:
        digest = urlsplit(self.path).path.lstrip("/")
        for repository in self.hub.repositories.values():
            for content in repository.files.values():
                if sha256_of(content) == digest:
                    self.file(content, f"cdn-{digest[:16]}", {})
                    return
        self.reply(404, b"no such blob", {})
