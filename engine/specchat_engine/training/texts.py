"""Reads what is to be learned from files: plain text, and chats in JSON.

A `.jsonl` or `.json` file has an object for each text or chat, in the shapes that datasets usually have: `text` or
`content`; `messages` with `role` and `content`; `conversations` with `from` and `value`; `prompt`, `instruction` or
`question` with `response`, `output`, `completion` or `answer`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specchat_engine.errors import SettingError
from specchat_engine.prompt.messages import Message, Role

_LARGEST = 256 * 2**20
"""Larger files are data rather than texts."""

_JSON = (".jsonl", ".json")
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "system": "system",
}
_TEXTS = ("text", "content")
_ASKED = ("prompt", "instruction", "question", "input")
_ANSWERED = ("response", "output", "completion", "answer")


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation. Its answers are learned, what was asked is not."""

    messages: tuple[Message, ...]

    @property
    def asked(self) -> tuple[Message, ...]:
        """The messages up to the first question."""
        first = next((index for index, message in enumerate(self.messages) if message.role == "user"), -1)
        return self.messages[: first + 1]


Text = str | Chat


def text_files(paths: Sequence[Path]) -> list[Path]:
    """The files among these paths and in these folders. Raises SettingError for a path that is neither."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.rglob("*") if file.is_file() and not _is_hidden(file, path))
        elif path.is_file():
            files.append(path)
        else:
            raise SettingError(f"the data {path} does not exist: name text files or folders with text files")
    return files


def read_texts(paths: Sequence[Path]) -> tuple[list[Text], int]:
    """The texts of these files and folders, and how many files in folders were left out because they are not text.

    Raises SettingError for a file that was named and is no UTF-8 text, or cannot be read.
    """
    named = {path for path in paths if not path.is_dir()}
    texts: list[Text] = []
    left_out = 0
    for file in text_files(paths):
        try:
            if file.stat().st_size > _LARGEST:
                raise SettingError(f"the data {file} has more than {_LARGEST // 2**20} MiB: split it")
            content = file.read_bytes().decode()
            texts += in_json(content) if file.suffix in _JSON else [content] if content.strip() else []
        except (OSError, ValueError, RecursionError) as error:
            if isinstance(error, SettingError):
                raise
            if file in named:
                raise SettingError(f"the data {file} cannot be read: {_reason(error)}") from None
            left_out += 1
    if not texts:
        raise SettingError(
            f"there is no text in {', '.join(map(str, paths))}: name UTF-8 text files or folders of them"
        )
    return texts, left_out


def in_json(content: str) -> list[Text]:
    """The texts and chats of a JSON file, or of one with an object on each line. Raises ValueError if it is neither."""
    try:
        whole = json.loads(content)
        records = whole if isinstance(whole, list) else [whole]
    except ValueError:
        records = [json.loads(line) for line in content.splitlines() if line.strip()]
    return [text for record in records if (text := _text_of(record))]


def _text_of(record: Any) -> Text | None:
    """The text or chat of a JSON object, None if it has no known shape."""
    if isinstance(record, str):
        return record if record.strip() else None
    if not isinstance(record, dict):
        return None
    turns = record.get("messages") or record.get("conversations")
    if isinstance(turns, list):
        messages = tuple(message for turn in turns if (message := _message(turn)))
        return Chat(messages) if any(message.role == "user" for message in messages) else None
    question, answer = (_first(record, names) for names in (_ASKED, _ANSWERED))
    if question:
        more = (Message("assistant", answer),) if answer else ()
        return Chat((Message("user", question), *more))
    return _first(record, _TEXTS) or None


def _message(record: Any) -> Message | None:
    if not isinstance(record, dict):
        return None
    role = _ROLES.get(str(record.get("role") or record.get("from")))
    content = record.get("content") or record.get("value")
    return Message(role, content) if role and isinstance(content, str) else None


def _first(record: Mapping[str, Any], names: Sequence[str]) -> str:
    values = (record.get(name) for name in names)
    return next((text for text in values if isinstance(text, str) and text.strip()), "")


def _reason(error: OSError | ValueError | RecursionError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return (error.strerror or str(error)) if isinstance(error, OSError) else f"it is not JSON: {error}"


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)
