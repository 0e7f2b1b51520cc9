"""What `--remote` means: the server that answers, and the options of a chat with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specchat.errors import ConfigError
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat.settings.config import read_config
from specchat.settings.options import ChatOptions
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings

_OF_MODELS = ("model", "draft", "head")


@dataclass(frozen=True, slots=True)
class RemoteChat:
    """A client of a server, and how the user wants its answers."""

    client: RemoteClient
    options: ChatOptions


def remote_chat(flags: Mapping[str, object], url: str, model: str | None, key: str | None) -> RemoteChat:
    """The chat with the server at this URL. Nothing is connected yet.

    Raises ConfigError for a URL or key that cannot be used, and for flags that name models of this machine.
    """
    address = read_address(url, model=model or "", key=key or "")
    named = next((name for name in _OF_MODELS if name in flags), None)
    if named is not None:
        raise ConfigError(f"--{named} names a model on this machine and --remote a server: omit one of them")
    config = read_config(flags)
    client = RemoteClient(address)
    options = ChatOptions(
        client.first_target,
        None,
        LoadOptions(),
        **config.of(Settings),
        sampling=config.sampling,
        seed=config.seed,
        system=config.system,
    )
    return RemoteChat(client, options)
