"""Which engine answers at an address, what it offers, and what it reports about its speculation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Protocol

from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.values import count, listed, mapping, number, text
from specchat.settings.schema import API_SETTINGS
from specchat.terminal.filter import clean_line
from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams


class EngineKind(StrEnum):
    """The engines that are known, by the names that users know; OPENAI is any other that speaks OpenAI's API."""

    LLAMA_SERVER = "llama-server"
    VLLM = "vLLM"
    SGLANG = "SGLang"
    SPECCHAT = "specchat"
    OPENAI = "OpenAI API"

    @property
    def recounts(self) -> bool:
        """Whether it reports at the end of an answer what it had drafted."""
        return self in (EngineKind.VLLM, EngineKind.SGLANG)


_OWNERS: Mapping[str, EngineKind] = {
    "llamacpp": EngineKind.LLAMA_SERVER,
    "vllm": EngineKind.VLLM,
    "sglang": EngineKind.SGLANG,
    "specchat": EngineKind.SPECCHAT,
}
"""What stands as the owner of a model in the list of models."""

_DRAFTING = re.compile(r"^vllm:spec_decode_num_drafts", re.MULTILINE)
"""A counter that vLLM has if it was started with speculation."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of a server. `id` is its name in requests; sizes are 0 if unknown.

    `name` is what the user reads, and under which statistics are kept: no other model of the server has it.
    """

    id: str
    name: str
    n_ctx: int = 0
    n_params: int = 0
    n_vocab: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A server and the model of it that answers.

    `speculates` says that it is known to draft. `drafters` are what requests may choose, empty if they may not.
    `sampling` are the parameters that it recommends.
    """

    engine: EngineKind
    model: ServedModel
    models: tuple[str, ...]
    version: str = ""
    speculates: bool = False
    drafters: tuple[str, ...] = ()
    draft: str = ""
    sampling: SamplingParams = field(default_factory=SamplingParams)


class Asking(Protocol):
    """What can be asked by URL."""

    def ask(self, url: str) -> Any:
        """What a GET gives. Raises RemoteError."""


def recognise(transport: Asking, address: Address) -> RemoteServer:
    """Asks a server what it is. Raises RemoteError if it cannot be reached or does not speak OpenAI's API."""
    models = listed(mapping(transport.ask(address.api("/models"))).get("data"))
    entries = [entry for entry in map(mapping, models) if text(entry.get("id"))]
    if not entries:
        raise RemoteError(f"{clean_line(address.host)} lists no models at /v1/models: check the address")
    entry = _chosen(entries, address)
    engine = _OWNERS.get(text(entry.get("owned_by")).lower(), EngineKind.OPENAI)
    server = RemoteServer(engine, _model(entry, entries), tuple(clean_line(entry["id"]) for entry in entries))
    match engine:
        case EngineKind.LLAMA_SERVER:
            return _llama_server(server, mapping(_optional(transport, f"{address.root}/props")))
        case EngineKind.VLLM:
            return _vllm(server, transport, address)
        case EngineKind.SGLANG:
            return _sglang(server, transport, address)
        case EngineKind.SPECCHAT:
            return _specchat(server, mapping(entry.get("specchat")))
    return replace(server, sampling=SamplingParams(top_k=0, min_p=0.0))


def _chosen(entries: list[Mapping[str, Any]], address: Address) -> Mapping[str, Any]:
    """The entry of the model that the user named, or the first. Part of a name is enough if no other has it."""
    if not address.model:
        return entries[0]
    wanted = PurePosixPath(address.model.lower()).as_posix()
    exact = [entry for entry in entries if PurePosixPath(entry["id"].lower()).as_posix() == wanted]
    matching = exact or [entry for entry in entries if wanted in entry["id"].lower()]
    if len(matching) == 1 or exact:
        return matching[0]
    names = ", ".join(clean_line(entry["id"]) for entry in entries[:8])
    raise RemoteError(f"{clean_line(address.host)} has no model {clean_line(address.model)}: it has {names}")


def _model(entry: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> ServedModel:
    meta, identity = mapping(entry.get("meta")), text(entry["id"])
    return ServedModel(
        identity,
        _name(identity, [text(entry["id"]) for entry in entries]),
        count(entry.get("max_model_len")) or count(meta.get("n_ctx")) or 0,
        count(meta.get("n_params")) or 0,
        count(meta.get("n_vocab")) or 0,
        count(meta.get("size")) or 0,
    )


def _name(identity: str, identities: Sequence[str]) -> str:
    """The last part of an id, or all of it if another model of the server has the same last part."""
    name = _last_part(identity)
    shared = any(other != identity and _last_part(other) == name for other in identities)
    return clean_line(identity if shared else name)


def _last_part(identity: str) -> str:
    return identity.rpartition("/")[2] or identity


def _llama_server(server: RemoteServer, props: Mapping[str, Any]) -> RemoteServer:
    usual = mapping(props.get("default_generation_settings"))
    n_ctx = count(usual.get("n_ctx")) or server.model.n_ctx
    return replace(
        server,
        model=replace(server.model, n_ctx=n_ctx),
        version=clean_line(text(props.get("build_info"))),
        sampling=_sampling(mapping(usual.get("params"))),
    )


def _vllm(server: RemoteServer, transport: Asking, address: Address) -> RemoteServer:
    version = mapping(_optional(transport, f"{address.root}/version")).get("version")
    metrics = _optional(transport, f"{address.root}/metrics")
    speculates = isinstance(metrics, str) and _DRAFTING.search(metrics) is not None
    sampling = SamplingParams(min_p=0.0)  # it refuses min-p where it drafts, which it may not report
    return replace(server, version=clean_line(text(version)), speculates=speculates, sampling=sampling)


def _sglang(server: RemoteServer, transport: Asking, address: Address) -> RemoteServer:
    info = mapping(_optional(transport, f"{address.root}/server_info"))
    info = info or mapping(_optional(transport, f"{address.root}/get_server_info"))
    speculates = bool(info.get("speculative_algorithm"))
    return replace(server, version=clean_line(text(info.get("version"))), speculates=speculates)


def _specchat(server: RemoteServer, info: Mapping[str, Any]) -> RemoteServer:
    drafters = tuple(clean_line(name) for name in map(text, listed(info.get("drafters"))) if name)
    return replace(
        server,
        version=clean_line(text(info.get("version"))),
        speculates=True,
        drafters=drafters or ("hybrid", "none"),
        draft=clean_line(text(info.get("draft")) or text(info.get("head"))),
    )


def _sampling(params: Mapping[str, Any]) -> SamplingParams:
    """The parameters that llama-server was started with; the usual ones where they are not reported."""
    values: dict[str, Any] = {}
    usual = SamplingParams()
    for setting, names in API_SETTINGS:
        given = number(params.get(names.llama_server))
        if given is not None:
            whole = isinstance(getattr(usual, setting.name), int)
            values[setting.name] = int(given) if whole else round(given, 6)
    try:
        return SamplingParams(**values)
    except SettingError:
        return usual


def _optional(transport: Asking, url: str) -> Any:
    """What a URL gives; None if the server does not have it."""
    try:
        return transport.ask(url)
    except RemoteError:
        return None
