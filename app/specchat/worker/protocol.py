"""What the application and the engine's process tell each other: commands go down the pipe, events come back.

They are named tuples: both processes make two dozen such classes before anything else, and a frozen dataclass takes
seven times as long to make as one of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from specchat.bench.gain import Gain
from specchat_engine.analysis.inspect import Inspection
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.memory.measured import MemoryUse
from specchat_engine.sampling.params import SamplingParams

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings
    from specchat_engine.load_options import ThreadCount


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


class Load(NamedTuple):
    """Loads a pair, in place of the one before."""

    target: str
    draft: str | None
    options: LoadOptions


class Generate(NamedTuple):
    """Answers a conversation. The noise depends on seed, turn and attempt.

    `prefix` holds the ids that the answer begins with, decided before; `frozen` lets it wait before its first round.
    """

    messages: tuple[ChatMessage, ...]
    turn: int
    attempt: int
    seed: int
    settings: Settings
    prefix: tuple[int, ...] = ()
    frozen: bool = False


class Prepare(NamedTuple):
    """Reads a conversation that is likely to be asked about next, unless there is something else to do."""

    messages: tuple[ChatMessage, ...]
    seed: int
    settings: Settings


class Set(NamedTuple):
    """New settings, in force at the next round."""

    settings: Settings


class Threads(NamedTuple):
    """Other thread counts, in force from the next pass on, whatever runs."""

    target: ThreadCount
    draft: ThreadCount


class Freeze(NamedTuple):
    """Holds the running answer before its next round, or lets it go on."""

    on: bool


class Step(NamedTuple):
    """Lets a frozen answer make so many rounds."""

    rounds: int = 1


class Inspect(NamedTuple):
    """Looks again at one output position of an answer with these ids, and tells about the `asked` ids too."""

    messages: tuple[ChatMessage, ...]
    tokens: tuple[int, ...]
    position: int
    asked: tuple[int, ...]
    seed: int
    settings: Settings


class Keep(NamedTuple):
    """Writes what the models have read to a folder, unless it takes more than `limit` bytes."""

    folder: str
    limit: int


class Recall(NamedTuple):
    """Goes back to what the models had read when a folder was written."""

    folder: str


class Time(NamedTuple):
    """Times a draft model with a target for so many seconds, in place of the pair that is loaded."""

    target: str
    draft: str
    options: LoadOptions
    seconds: float


class Cancel(NamedTuple):
    """Stops the running answer, the load, the timing, or what is being inspected."""


class Quit(NamedTuple):
    """Ends the process."""


Command = Load | Generate | Prepare | Set | Threads | Freeze | Step | Inspect | Keep | Recall | Time | Cancel | Quit


class Loading(NamedTuple):
    """How much of the models has been read, from 0 to 1."""

    progress: float


class Loaded(NamedTuple):
    """The models are ready. `refusal` says why the draft model was left out, where it was.

    `plain_because` says why this target cannot speculate at all, empty where it can; `translated_because` why the draft
    model drafts through text, empty where it does not.
    """

    target: ModelSummary
    draft: ModelSummary | None
    drafters: tuple[str, ...]
    recommended: SamplingParams
    refusal: str | None
    n_ctx: int
    plain_because: str = ""
    translated_because: str = ""
    memory: MemoryUse = MemoryUse()


class Started(NamedTuple):
    """An answer begins; `line` is the trace's first line."""

    line: dict[str, Any]


class Notice(NamedTuple):
    """Something that the user should know, such as turns that no longer fit the context."""

    text: str


class Ended(NamedTuple):
    """An answer is complete; `stats` is the trace's object of that name, `text` begins with the answer's prefix."""

    reason: str
    text: str
    stats: dict[str, Any]
    costs: MeasuredCosts = MeasuredCosts()


class Inspected(NamedTuple):
    """What an inspection found."""

    inspection: Inspection


class Kept(NamedTuple):
    """Whether what the models have read was written; `message` says why not."""

    ok: bool
    message: str = ""


class Recalled(NamedTuple):
    """Whether the models are where they were when the folder was written."""

    ok: bool


class Timing(NamedTuple):
    """How much of the time for a draft is over, from 0 to 1."""

    share: float


class Timed(NamedTuple):
    """What a draft gains; None where no answer had a token. No pair is loaded any more."""

    gain: Gain | None


class WorkerFailed(NamedTuple):
    """A command failed. `died` says that the process is gone; the next command starts another."""

    message: str
    died: bool = False


LastEvent = Loaded | Ended | Inspected | Kept | Recalled | Timed | WorkerFailed
"""What ends the answer to a command."""

Event = Loading | Started | Notice | Round | Timing | LastEvent
