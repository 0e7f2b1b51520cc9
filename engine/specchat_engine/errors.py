"""What can go wrong in the engine, as one small tree.

EngineError
├── NativeLibraryError    llama.cpp is missing, broken, or of another version
├── ModelFileError        a file that cannot be used as a model
│   └── HeaderError       its header is broken, cut off, or larger than any real one
├── PairError             a target and a draft model that do not fit each other
├── SettingError          a parameter out of its range (also a ValueError)
├── ContextOverflowError  a prompt that the context cannot hold
├── TemplateError         a chat template that fails or misbehaves
├── DecodeError           llama.cpp failed in a pass or a cut
└── Cancelled             the caller asked a running turn to stop

Every message is one line: what failed, the value, what to do.
"""

from __future__ import annotations


class EngineError(Exception):
    """The base of everything that the engine raises on purpose."""

    def __init__(self, message: str) -> None:
        """Keeps the message to one line, whatever a path or a template put into it."""
        super().__init__(" ".join(message.splitlines()))


class NativeLibraryError(EngineError):
    """A llama.cpp that cannot be loaded, or that is not the one this code was written for."""

    def __init__(self, reason: str, remedy: str) -> None:
        """Joins what is wrong and what to do about it."""
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


class ModelFileError(EngineError):
    """A file that is missing, unreadable, truncated, or not a model."""


class HeaderError(ModelFileError):
    """A GGUF header that is not sound; no native code has seen the file."""


class TextStoreError(EngineError):
    """A store of texts that cannot be read or written."""


class PairError(EngineError):
    """A target and a draft model whose tokenizers differ."""


class SettingError(EngineError, ValueError):
    """A parameter with a value that it cannot have."""


class ContextOverflowError(EngineError):
    """A prompt that is longer than the context."""


class TemplateError(EngineError):
    """A chat template that does not parse, raises, or takes too long."""


class DecodeError(EngineError):
    """llama.cpp reported a failure; the model's memory was made consistent again, or cleared."""


class Cancelled(EngineError):
    """A turn that was asked to stop while its prompt was read."""
