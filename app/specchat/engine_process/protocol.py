"""The messages between an application and the engine's process: commands go down the pipe, events come back.

Each command and event is declared here and nowhere else: a frozen dataclass that is a member of `Command` or `Event`.
A command has a number, which all of its events have, so that the events of several answers may mix. Each command of
the kind `Task` is answered by exactly one `LastEvent`. `lines` writes and reads the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from specchat.bench.samples import Gain
from specchat.models.labels import brief_pair, model_name, pair_name
from specchat.pipes import Decoder
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.thoughts import split_thinking, with_thought
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import PromptProgress, Round
from specchat_engine.load_options import Head, LoadOptions, MemoryUse, ModelInfo, check_threads
from specchat_engine.prompt.messages import Message, ToolCall
from specchat_engine.prompt.thinking_switch import ThinkingSwitch
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    An answer may have `tool_calls`. The role "tool" is that of a result: `tool_call_id` says of which call, and `name`
    of which function. `images` are files on this machine, or PNGs as data: URLs. `reasoning` is the thought of an
    answer, None if the content begins with it.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    images: tuple[str, ...] = ()
    reasoning: str | None = None

    @classmethod
    def of(cls, message: Message) -> ChatMessage:
        """A message that the engine took, with the thought in the content again."""
        content = with_thought(message.reasoning_content, message.content)
        return cls(message.role, content, message.tool_calls, message.tool_call_id, message.name)

    def for_engine(self) -> Message:
        """The same message as the engine takes it, without its images. An answer's thought is apart: the chat template
        decides whether the model reads it again."""
        thought, content = self.reasoning or "", self.content
        if self.reasoning is None and self.role == "assistant":
            thought, content = split_thinking(self.content)
        return Message(self.role, content, self.tool_calls, self.tool_call_id, self.name, thought)


@dataclass(frozen=True, slots=True)
class Offer:
    """The functions that an answer may call, in the form of OpenAI's chat API.

    If a call is `required`, the answer has to make one, or several if they may be `parallel`.
    """

    functions: tuple[Mapping[str, Any], ...] = ()
    required: bool = False
    parallel: bool = True


NO_TOOLS = Offer()


def call_id(turn: int, number: int) -> str:
    """The id of a call in an answer, by its number among them. It differs within the turns of a seed."""
    return f"call{turn % 1000:03}{number % 100:02}"


Prefix = tuple[int, ...] | str
"""The beginning that is given to an answer: token ids, or a text that is kept to the letter."""


@dataclass(frozen=True, slots=True)
class Load:
    """Loads a pair and replaces the one before.

    With `serves` it answers the requests of a server's clients: their prompts are never shortened, nothing is learned
    from their texts, and passes are measured only after a quiet second.
    """

    target: str
    draft: str | None
    options: LoadOptions
    serves: bool = False


@dataclass(frozen=True, slots=True)
class Generate:
    """Answers a conversation, or the raw `prompt` if there is one. Seed, turn and attempt decide the noise.

    The answer begins with `prefix`, and probably repeats `prediction`. A `frozen` one waits before its first round.
    The chat template also gets the `variables`. `logprobs` is the number of likeliest tokens that are reported with
    each token's log-probability, None for no log-probabilities. With `echo` those of the prompt are reported too.
    """

    messages: tuple[ChatMessage, ...]
    settings: Settings
    seed: int
    turn: int = 0
    attempt: int = 0
    prefix: Prefix = ()
    frozen: bool = False
    prediction: str = ""
    tools: Offer = NO_TOOLS
    prompt: str | tuple[int, ...] | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    logprobs: int | None = None
    echo: bool = False

    @property
    def continues(self) -> bool:
        """True if the last message is the beginning of an answer, which goes on."""
        return bool(self.messages) and self.messages[-1].role == "assistant" and bool(self.messages[-1].content)


@dataclass(frozen=True, slots=True)
class Count:
    """Counts the tokens of a prompt, with old turns that an answer would drop. It does not wait for answers."""

    request: Generate


@dataclass(frozen=True, slots=True)
class Prepare:
    """Reads a conversation that will probably be asked about next, until something else is to be done."""

    messages: tuple[ChatMessage, ...]
    settings: Settings
    seed: int
    tools: Offer = NO_TOOLS


@dataclass(frozen=True, slots=True)
class Set:
    """Changes the settings of the answer with this number from its next round on."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class Threads:
    """Changes the thread counts from the next pass on, whatever runs."""

    target: int
    draft: int

    def __post_init__(self) -> None:
        check_threads("threads", self.target)
        check_threads("threads_draft", self.draft)


@dataclass(frozen=True, slots=True)
class Freeze:
    """Holds the answer with this number before its next round, or lets it continue."""

    on: bool


@dataclass(frozen=True, slots=True)
class StepRounds:
    """Lets a frozen answer make this many rounds."""

    rounds: int = 1


@dataclass(frozen=True, slots=True)
class Inspect:
    """Inspects one output position of an answer with these ids, and reports the `asked` ids too.

    `sharpness` is that of the position's round.
    """

    messages: tuple[ChatMessage, ...]
    tokens: tuple[int, ...]
    position: int
    settings: Settings
    seed: int
    asked: tuple[int, ...] = ()
    sharpness: float = 1.0
    tools: Offer = NO_TOOLS


@dataclass(frozen=True, slots=True)
class Keep:
    """Writes the prompt caches to a folder, unless they take more than `limit` bytes."""

    folder: str
    limit: int


@dataclass(frozen=True, slots=True)
class Recall:
    """Restores the prompt caches that were written to a folder."""

    folder: str


@dataclass(frozen=True, slots=True)
class Time:
    """Measures what a draft model gains with a target, for this many seconds. It replaces the loaded pair."""

    target: str
    draft: str
    options: LoadOptions
    seconds: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stops the task with this number, also one that waits. Its last event still comes."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Ends the process."""


Task = Load | Generate | Count | Inspect | Keep | Recall | Time
"""A command that is answered by events."""

Command = Task | Prepare | Threads | Set | Freeze | StepRounds | Cancel | Quit


@dataclass(frozen=True, slots=True)
class Loading:
    """The share of the models that has been read, from 0 to 1."""

    progress: float


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The server behind the models, if they are reached over HTTP.

    `kind` is the engine's name, `models` are the ids of what the server offers, and `model` is the one that answers. A
    server that is `steered` takes k, the drafter and the verifier with each request; others draft as they were started.
    One that `recounts` reports its drafts only at the end of an answer.
    """

    kind: str
    host: str
    model: str = ""
    version: str = ""
    models: tuple[str, ...] = ()
    steered: bool = False
    recounts: bool = False

    @property
    def name(self) -> str:
        """The engine and where it is, as the user reads it."""
        return f"{self.kind} at {self.host}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The models are ready.

    `refusal` says why the draft model was left out, None if it was not. `plain_because` says why this target cannot
    speculate, empty if it can. `translated_because` says why the draft model drafts through text, empty if it does not.
    `notices` are the engine's: what else the user should know. `head` is what drafts from the target's hidden states,
    and `further` are the draft models beside the first. `no_images_because` says why messages may have no images, empty
    if they may. `ends` are the tokens that end an answer. `answer_format` says how the target writes reasoning and
    calls of tools, and `thinking` what its chat template takes to think or not. `server` is where the models are, None
    for this machine.
    """

    target: ModelInfo
    draft: ModelInfo | None
    drafters: tuple[str, ...]
    recommended: SamplingParams
    refusal: str | None
    n_ctx: int
    plain_because: str = ""
    translated_because: str = ""
    notices: tuple[str, ...] = ()
    memory: MemoryUse = field(default_factory=MemoryUse)
    head: Head | None = None
    further: tuple[ModelInfo, ...] = ()
    answer_format: AnswerFormat = field(default_factory=AnswerFormat)
    thinking: ThinkingSwitch = field(default_factory=ThinkingSwitch)
    server: ServerInfo | None = None
    no_images_because: str = ""
    ends: tuple[int, ...] = ()

    @property
    def pair_name(self) -> str:
        """The name of what is loaded, as the user reads it."""
        return f"{self._models} · {self.server.name}" if self.server else self._models

    @property
    def brief_name(self) -> str:
        """The same in few words. A server's models keep their names, by which it knows them."""
        head = self.head.name if self.head else ""
        return self.pair_name if self.server else brief_pair(self.target, self.draft, head, self.further)

    @property
    def shorter_names(self) -> tuple[str, ...]:
        """The same without the server's engine, then without the draft; empty for models on this machine."""
        if self.server is None:
            return ()
        return tuple(f"{models} at {self.server.host}" for models in (self._models, model_name(self.target)))

    @property
    def _models(self) -> str:
        return pair_name(self.target, self.draft, self.head.name if self.head else "", self.further)


@dataclass(frozen=True, slots=True)
class LikelyToken:
    """A token with its text and the logarithm of its probability by the model itself, before any sampling stage.

    `octets` are its own bytes, which are not text if a character is split over several tokens.
    """

    id: int
    text: str
    logprob: float
    octets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Position:
    """A token of an answer or a prompt, and the likeliest tokens at its position, best first.

    If there are any, the token itself is one of them.
    """

    token: LikelyToken
    likeliest: tuple[LikelyToken, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The prompt was read and the answer begins; `line` is the first line of its trace.

    `cached_tokens` of the prompt were in memory already. `prompt` has its tokens if they are to be echoed, with
    their log-probabilities if these were asked for. The first token has none: 0.0. `cache_miss` says why much of the
    prompt was read although the memory held another one.
    """

    line: dict[str, Any]
    cached_tokens: int = 0
    prompt: tuple[Position, ...] = ()
    cache_miss: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """The log-probabilities of the tokens that the next round emits; sent only if they were asked for."""

    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know, for example that old turns no longer fit the context."""

    text: str


@dataclass(frozen=True, slots=True)
class Summarised:
    """The target's summary of the first `num_messages` messages of the conversation, not counting a system message."""

    text: str
    num_messages: int


@dataclass(frozen=True, slots=True)
class Recounted:
    """All rounds of the answer again, with the drafts that a server reported only at its end. It replaces them."""

    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """An answer is complete. `stats` is the trace's object of that name; `text` includes the answer's prefix.

    If the answer calls tools, `calls` has the calls and `content` the rest of the text. An answer that was cut short
    has no calls.
    """

    reason: str
    text: str
    stats: dict[str, Any]
    costs: MeasuredCosts = field(default_factory=MeasuredCosts)
    calls: tuple[ToolCall, ...] = ()
    content: str = ""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A prompt has this number of tokens."""

    tokens: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """The result of an inspection."""

    inspection: Inspection


@dataclass(frozen=True, slots=True)
class Kept:
    """The prompt caches were written, if `ok`; otherwise `message` says why not."""

    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The prompt caches were restored, if `ok`."""

    ok: bool


@dataclass(frozen=True, slots=True)
class DraftTrial:
    """The share of the time for a draft model that is over, from 0 to 1."""

    share: float


@dataclass(frozen=True, slots=True)
class DraftTimed:
    """The gain of a draft model, None if no answer had a token. No pair is loaded any more."""

    gain: Gain | None


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A command failed. `died` says that the process is gone; the next command starts another one.

    `asked_wrong` says that the command is to blame, and not the engine. `too_long` says that the context cannot hold
    the prompt.
    """

    message: str
    died: bool = False
    asked_wrong: bool = False
    too_long: bool = False


LastEvent = Loaded | Ended | TokenCount | Inspected | Kept | Recalled | DraftTimed | TaskFailed
"""The last event of a task."""

Event = Loading | PromptProgress | Started | Notice | Summarised | Scored | Round | Recounted | DraftTrial | LastEvent

decode_command = Decoder[Command](get_args(Command)).numbered
decode_event = Decoder[Event](get_args(Event)).numbered
