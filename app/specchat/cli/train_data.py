"""What `specchat train` learns from: files, the user's own chats, and datasets of the hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specchat.cli.messages import say
from specchat.errors import ConfigError
from specchat.models.datasets import dataset_files
from specchat.texts import CHATS, own_chats
from specchat_engine.training.texts import Chat, Text, read_texts

HUB = "hub:"


def read_data(names: Sequence[str]) -> list[Text]:
    """All texts and chats of what `--data` names. Of the user's own chats the one that was used last comes last.

    Says how many files in folders were left out because they are not text. Raises SettingError, StoreError, HubError or
    ConfigError for what cannot be read.
    """
    texts: list[Text] = []
    left_out = 0
    read: Sequence[Text]
    for name in names:
        if name == CHATS:
            read = [Chat(messages) for messages in reversed(own_chats())]
            if not read:
                raise ConfigError("there are no stored chats yet: chat first, or name files with --data")
            texts += read
            continue
        paths = dataset_files(name.removeprefix(HUB)) if name.startswith(HUB) else [Path(name)]
        read, more = read_texts(paths)
        texts += read
        left_out += more
    if left_out:
        say(f"left out because they are not text: {left_out} file{'s' * (left_out > 1)}")
    return texts
