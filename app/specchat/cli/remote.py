"""What `--remote` means: the server that answers, and the options of a chat with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specchat.errors import ConfigError
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat.settings.config import read_config
from specchat.settings.options import ChatOptions
from specchat.settings.schema import BY_KEY
from specchat.settings.setting import SettingGroup
from specchat_engine.load_options import LoadOptions

_OF_THIS_MACHINE = (SettingGroup.MODELS, SettingGroup.LOADING)
"""The groups of settings that a server has of its own."""


@dataclass(frozen=True, slots=True)
class RemoteChat:
    """A client of a server, and how the user wants its answers."""

    client: RemoteClient
    options: ChatOptions


def remote_chat(flags: Mapping[str, object], url: str, model: str | None, key: str | None) -> RemoteChat:
    """The chat with the server at this URL. Nothing is connected yet.

    Raises ConfigError for a URL or key that cannot be used, and for flags about models on this machine.
    """
    address = read_address(url, model=model or "", key=key or "")
    for name in flags:
        if BY_KEY[name].group in _OF_THIS_MACHINE:
            raise ConfigError(f"{BY_KEY[name].flag} is for models on this machine and --remote for a server: omit one")
    config = read_config(flags)
    client = RemoteClient(address)
    return RemoteChat(client, ChatOptions.of(config, client.first_target, None, LoadOptions()))
