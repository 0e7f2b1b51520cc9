"""What the application and the engine's process tell each other: commands go down the pipe, events come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from specchat_engine.params import SamplingParams
from specchat_engine.rounds import Round

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation; role is system, user or assistant."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """A loaded model as the application shows it; sizes in bytes, contexts in tokens."""

    name: str
    path: str
    n_params: int = 0
    size_bytes: int = 0
    n_ctx: int = 0
    n_ctx_train: int = 0
    n_vocab: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Loads a pair, in place of the one before."""

    target: str
    draft: str | None
    options: LoadOptions


@dataclass(frozen=True, slots=True)
class Generate:
    """Answers a conversation. The noise depends on seed, turn and attempt."""

    messages: tuple[ChatMessage, ...]
    turn: int
    attempt: int
    seed: int
    settings: Settings


@dataclass(frozen=True, slots=True)
class Prepare:
    """Reads a conversation that is likely to be asked about next, unless there is something else to do."""

    messages: tuple[ChatMessage, ...]
    seed: int
    settings: Settings


@dataclass(frozen=True, slots=True)
class Set:
    """New settings, in force at the next round."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stops the running answer, or the load."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Ends the process."""


Command = Load | Generate | Prepare | Set | Cancel | Quit


@dataclass(frozen=True, slots=True)
class Loading:
    """How much of the models has been read, from 0 to 1."""

    progress: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """The models are ready. `refusal` says why the draft model was left out, where it was.

    `plain_because` says why this target cannot speculate at all, empty where it can.
    """

    target: ModelSummary
    draft: ModelSummary | None
    drafters: tuple[str, ...]
    recommended: SamplingParams
    refusal: str | None
    n_ctx: int
    plain_because: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """An answer begins; `line` is the trace's first line."""

    line: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the user should know, such as turns that no longer fit the context."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An answer is complete; `stats` is the trace's object of that name."""

    reason: str
    text: str
    stats: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """A load or an answer failed. `died` says that the process is gone; the next command starts another."""

    message: str
    died: bool = False


Event = Loading | Loaded | Started | Notice | Round | Ended | WorkerFailed
