"""What `specchat train` learns from: files, the user's own chats, and datasets of the hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specchat.errors import ConfigError
from specchat.models.datasets import dataset_files
from specchat.settings.paths import sessions_db
from specchat.store import State, Store, path_to
from specchat_engine.prompt.template import Message
from specchat_engine.training.texts import Chat, Text, read_texts

CHATS, HUB = "chats", "hub:"


def read_data(names: Sequence[str]) -> tuple[list[Text], int]:
    """All texts and chats of what `--data` names, and how many files were left out because they are no text.

    Raises SettingError, StoreError, HubError or ConfigError for what cannot be read.
    """
    texts: list[Text] = []
    left_out = 0
    for name in names:
        if name == CHATS:
            texts += own_chats()
            continue
        paths = dataset_files(name.removeprefix(HUB)) if name.startswith(HUB) else [Path(name)]
        found, more = read_texts(paths)
        texts += found
        left_out += more
    return texts, left_out


def own_chats() -> list[Chat]:
    """The conversations that are stored on this machine, as they are shown. Raises ConfigError if there are none."""
    file = sessions_db()
    chats: list[Chat] = []
    if file.exists():
        with Store.open(file, read_only=True) as store:
            for session in store.sessions(limit=100_000):
                system = (Message("system", session.system),) if session.system else ()
                shown = path_to(store.messages(session.id), session.head)
                whole = [one for one in shown if one.role == "user" or one.state is State.WHOLE]
                messages = (Message("user" if one.role == "user" else "assistant", one.content) for one in whole)
                chats.append(Chat((*system, *messages)))
    chats = [chat for chat in chats if any(message.role == "assistant" for message in chat.messages)]
    if not chats:
        raise ConfigError("there are no stored chats yet: chat first, or name files with --data")
    return chats
