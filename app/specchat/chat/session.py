"""The state of the chat without widgets: the conversation, the settings, and the phase of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path
from typing import Any, NamedTuple

from specchat.chat.attachments import text_of_file
from specchat.chat.conversation import Conversation, title_of
from specchat.chat.guide import with_help
from specchat.engine_process.protocol import NO_TOOLS, ChatMessage, Ended, Generate, Loaded, Offer, Prefix, ServerInfo
from specchat.models.labels import brief_name
from specchat.settings.options import DEFAULT_VERIFIER, ChatOptions
from specchat.stats.advice import Advice, AdviceHistory
from specchat.stats.line import LOSSY_SIGN
from specchat.store.images import StoredImage
from specchat.store.records import State, StoredMessage, StoredSession, ToolUse, new_id, new_seed
from specchat.terminal.filter import clean_line
from specchat_assets import is_guide
from specchat_assets.quoted import question_in
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.settings import AUTO, LOSSY_VERIFIERS, Settings, answer_reserve

_DEATHS = 3
_NEARLY_FULL = 0.9
_WHEN_FULL = {"drop": "oldest turns go next", "summarise": "a summary is next", "stop": "stops next"}


class Phase(Enum):
    """What the engine is doing."""

    LOADING = auto()
    READY = auto()
    ANSWERING = auto()
    FAILED = auto()


class Speculation(Enum):
    """The states of the status chip, each with a glyph that distinguishes it without colour."""

    LOADING = "…"
    ACTIVE = "●"
    LOSSY = LOSSY_SIGN
    OFF = "○"
    REFUSED = "✕"
    FAILED = "!"


class HeaderView(NamedTuple):
    """The header at one moment. The `shorter` names of the pair are for narrow screens, and all end with the `host`.

    `thinking` is the level that was chosen, empty if it is the template's own or has no effect. `when_full` says what
    happens next, once the context is nearly full. `tools` is the number of tools that are on.
    """

    pair: str
    state: Speculation
    status: str
    ctx_used: int
    ctx_size: int
    seed: int
    shorter: tuple[str, ...] = ()
    host: str = ""
    thinking: str = ""
    when_full: str = ""
    tools: int = 0


class Question(NamedTuple):
    """A request to the engine. Seed, turn and attempt determine the noise; the answer begins with `prefix`.

    `source` names the passage of the help that the answer quotes, if there is one. `prediction` is a text that the
    answer will probably repeat, and `tools` are what it may call.
    """

    messages: tuple[ChatMessage, ...]
    turn: int
    attempt: int
    seed: int
    prefix: Prefix = ()
    frozen: bool = False
    source: str = ""
    prediction: str = ""
    tools: Offer = NO_TOOLS

    def request(self, settings: Settings) -> Generate:
        """The request to the engine under these settings."""
        return Generate(
            self.messages,
            settings,
            self.seed,
            self.turn,
            self.attempt,
            self.prefix,
            self.frozen,
            self.prediction,
            self.tools,
        )

    def quoted_in(self, answer: str) -> str:
        """`source` if this answer says the passage word for word, as far as it goes; else nothing."""
        message = self.messages[-1].content
        words, passage = (" ".join(text.split()) for text in (answer, message.removeprefix(question_in(message))))
        return self.source if words and words in passage else ""


class ChatSession:
    """One conversation with one pair. Each session has a new seed unless the options fix it.

    `advice` is the advisor's last advice in this conversation, and `advisor` its memory. `answered_by` names the model
    that gave the last answer of a stored conversation, empty if that is not known.
    """

    def __init__(
        self,
        options: ChatOptions,
        loaded: Loaded | None = None,
        settings: Settings | None = None,
        conversation: Conversation | None = None,
    ) -> None:
        self.options = options
        self.phase = Phase.READY if loaded else Phase.LOADING
        self.loaded = loaded
        self.settings = settings
        self.conversation = conversation or new_conversation(options)
        self.progress = 0.0
        self.died = False
        self.deaths = 0
        self.costs = MeasuredCosts()
        self.advisor: AdviceHistory | None = None
        self.advice: Advice | None = None
        self.used = 0
        self.answered_by = ""
        self.prediction = ""
        self.prompt_tokens: int | None = None

    @property
    def server(self) -> ServerInfo | None:
        """The server that answers; None if the models are on this machine, or not loaded yet."""
        return self.loaded.server if self.loaded else None

    @property
    def answerer(self) -> str:
        """The name of the model that answers; until it is loaded, of the one that gave the stored answers."""
        if self.loaded is not None:
            return brief_name(self.loaded.target)
        return self.answered_by or clean_line(self.options.target.stem)

    @property
    def seed(self) -> int:
        """The seed of this conversation."""
        return self.conversation.session.seed or 0

    def renewed(self, conversation: Conversation | None = None) -> ChatSession:
        """A session for an empty or a stored conversation with the same pair and settings."""
        session = ChatSession(self.options, self.loaded, self.settings, conversation)
        session.phase, session.progress, session.died = self.phase, self.progress, self.died
        session.deaths = self.deaths
        session.costs = self.costs
        if session.phase is Phase.ANSWERING:
            session.phase = Phase.READY
        return session

    @property
    def k_max(self) -> int:
        """The largest k, which was reserved when the pair was loaded."""
        return self.options.load.k_max

    def ready(self, loaded: Loaded) -> Settings:
        """Called when the pair is loaded. Returns the settings, adapted to what the pair supports."""
        if self.loaded is None:
            self.costs = MeasuredCosts()
        self.loaded = loaded
        settings = self.settings or self.options.settings(loaded.recommended, loaded.drafters)
        if settings.drafter not in loaded.drafters:
            settings = replace(settings, drafter=loaded.drafters[0])
        if settings.k != AUTO and settings.k > self.k_max:
            settings = replace(settings, k=self.k_max)
        self.settings = settings
        if self.phase is not Phase.ANSWERING:
            self.phase = Phase.READY
        self.progress = 1.0
        return settings

    @property
    def no_images_because(self) -> str:
        """Why messages may have no images; empty if they may, or as long as nothing is loaded."""
        return self.loaded.no_images_because if self.loaded else ""

    def ask(self, text: str, instead_of: int | None = None, images: tuple[StoredImage, ...] = ()) -> StoredMessage:
        """Adds the user's message, or an edited version of an earlier one. The first one names the session."""
        conversation = self.conversation
        if conversation.empty:
            self.name_pair()
            conversation.change(title=conversation.session.title or title_of(text))
        if instead_of is None:
            return conversation.ask(text, images)
        return conversation.edit(instead_of, text, images)

    def name_pair(self) -> StoredSession:
        """Notes in the conversation that it continues with this pair."""
        draft = str(self.options.draft) if self.options.draft else None
        return self.conversation.change(target=str(self.options.target), draft=draft)

    def begin(
        self,
        prefix: Prefix = (),
        *,
        frozen: bool = False,
        answer: StoredMessage | None = None,
        tools: Offer = NO_TOOLS,
    ) -> tuple[StoredMessage, Question]:
        """Begins an answer, or the empty one that waited. Returns it with the request to the engine.

        The help does not answer if there is an image: the question may be about what it shows.
        """
        answer = answer or self.conversation.begin_answer()
        self.phase = Phase.ANSWERING
        self.progress = 0.0 if self.died else 1.0
        self.died = False
        *before, last = self.conversation.asked(answer.id)
        source = ""
        if last.role == "user" and not last.images:
            content, source = with_help(last.content, self.options.target)
            last = replace(last, content=content)
        if source:  # the guide repeats a passage best without the turns before
            before = [message for message in before if message.role == "system"]
        prediction, self.prediction = self.prediction, ""
        turn, attempt = answer.turn or 0, answer.attempt
        messages, offer = (*before, last), self.offered(tools)
        return answer, Question(messages, turn, attempt, self.seed, prefix, frozen, source, prediction, offer)

    def offered(self, tools: Offer) -> Offer:
        """What the model gets of these tools: nothing if it is the built-in guide, which never learned to call them."""
        return NO_TOOLS if is_guide(self.options.target) else tools

    def predict(self, path: Path) -> str:
        """Takes the text of a file as what the next answer will probably repeat, and says so.

        Raises AttachmentError if the file is missing, is not text, or is too large.
        """
        self.prediction = text_of_file(path)
        return f"The next answer is drafted from {path.name} where it repeats it."

    def broke(self, died: bool) -> bool:
        """Called when an answer failed. Returns True if the engine died so often in a row that speculation is now off.

        Speculation uses more of llama.cpp than plain decoding, so the chat may well work without it.
        """
        self.died = died
        self.deaths += died
        if self.deaths < _DEATHS or self.settings is None or self.settings.k == 0:
            return False
        self.settings = replace(self.settings, k=0)
        return True

    def started(self, line: Mapping[str, Any]) -> None:
        """Called with the first line of the trace, which has the prompt's length and what the answer begins with."""
        prompt = line.get("prompt_tokens")
        self.prompt_tokens = None if prompt is None else prompt + len(line.get("prefix", ()))

    def answered(self, answer: int, text: str, num_tokens: int, ended: Ended | None, figures: str = "") -> str | None:
        """Ends a turn. An incomplete answer is kept.

        If there was no answer at all, the user's message leaves the conversation and is returned, to be sent again.
        """
        self.phase = Phase.READY
        prompt_tokens, self.prompt_tokens = self.prompt_tokens, None
        if prompt_tokens is None and ended is not None:  # a server may send it at the end
            prompt_tokens = ended.stats.get("prompt_tokens") or None
        if ended is not None:
            self.deaths = 0
            self.costs = ended.costs if ended.costs.verify else self.costs
        conversation = self.conversation
        node = conversation.message(answer)
        if text or (ended is not None and ended.reason != "cancelled"):
            state = State.CUT if ended is None else State.STOPPED if ended.reason == "cancelled" else State.WHOLE
            calls = ended.calls if ended else ()
            tools, content = (ToolUse(calls), ended.content) if ended and calls else (None, text)
            conversation.put(replace(node, content=content, state=state, figures=figures, tools=tools))
            self.used = (self.used if prompt_tokens is None else prompt_tokens) + num_tokens
            return None
        conversation.drop(answer)
        if node.parent is None or conversation.has_answers(node.parent):
            conversation.show_newest()
            return None
        question = conversation.message(node.parent)
        if question.role == "tool":
            return None
        conversation.drop(question.id)
        return question.content

    def header(self, tokens_now: int = 0, *, tools: int = 0) -> HeaderView:
        """The header, which counts the prompt and the tokens of the running turn, and the tools that are on."""
        state, status = self._status()
        used = self.used if self.prompt_tokens is None else self.prompt_tokens
        return HeaderView(
            pair=self.loaded.brief_name if self.loaded else clean_line(self.options.target.name),
            state=state,
            status=status,
            ctx_used=used + tokens_now,
            ctx_size=self.loaded.n_ctx if self.loaded else 0,
            seed=self.seed,
            shorter=self.loaded.shorter_names if self.loaded else (),
            host=self.server.host if self.server else "",
            thinking=self._level(),
            when_full=self._when_full(used + tokens_now),
            tools=tools,
        )

    def unheard(self, settings: Settings) -> str:
        """Why the level of thinking does not do what it says with the loaded model; empty if it does."""
        loaded = self.loaded
        return loaded.thinking.notice(settings.thinking) if loaded and loaded.server is None else ""

    def _when_full(self, used: int) -> str:
        """What happens when the context is full, if that is near. What is kept free for answers counts as full."""
        if self.settings is None or self.loaded is None or self.server is not None:
            return ""
        n_ctx = self.loaded.n_ctx
        near = used >= _NEARLY_FULL * (n_ctx - answer_reserve(n_ctx))
        return _WHEN_FULL[self.settings.context_full] if near else ""

    def _level(self) -> str:
        if self.settings is None or self.loaded is None or self.settings.thinking == AUTO:
            return ""
        return self.settings.thinking if self.server or self.loaded.thinking.exists else ""

    def _status(self) -> tuple[Speculation, str]:
        if self.phase is Phase.FAILED:
            return Speculation.FAILED, "no model"
        if self.died:
            return Speculation.FAILED, "the engine stopped"
        settings, loaded = self.settings, self.loaded
        if settings is None or loaded is None or (self.progress < 1 and self.phase is not Phase.READY):
            loading = f"loading {int(self.progress * 100):3} %"
            return Speculation.LOADING, loading if self.progress < 1 else "warming up"
        if loaded.plain_because:
            return Speculation.REFUSED, f"not possible: {clean_line(loaded.plain_because)}"
        if loaded.server is not None and not loaded.server.steered:
            return Speculation.ACTIVE, "as the server was started"
        if settings.k == 0:
            return Speculation.OFF, "off · k 0"
        rule = f"lossy {settings.verifier}" if settings.verifier in LOSSY_VERIFIERS else settings.verifier
        rules = [] if rule == DEFAULT_VERIFIER else [rule]
        if settings.relaxes_thoughts:
            rules.append(f"lossy {settings.thought_verifier} in thoughts")
        how = [*rules, settings.drafter, f"k {settings.k}"]
        if settings.drafter == "none":
            state, status, how = Speculation.OFF, "off · drafter none", ["plain"]
        elif not settings.lossless:
            state, status = Speculation.LOSSY, " · ".join(how)
        else:
            state, status = Speculation.ACTIVE, " · ".join(("active", *how))
        if loaded.refusal is None:
            return state, status
        return Speculation.REFUSED, f"draft rejected ({', '.join(how)}): {clean_line(loaded.refusal)}"


def load_notices(loaded: Loaded, *, first_time: bool) -> Iterator[tuple[str, bool]]:
    """What to say about a pair that was loaded, each with whether it is a failure. A reload does not repeat all."""
    if first_time and loaded.refusal is not None:
        yield f"Not loaded: {loaded.refusal}", True
    if first_time and loaded.plain_because:
        yield f"Speculation is not possible: {loaded.plain_because}", True
    elif first_time and loaded.translated_because:
        yield loaded.translated_because, False
    for text in loaded.notices:
        yield text, False


def new_conversation(options: ChatOptions) -> Conversation:
    """An empty conversation with the system prompt and seed of the options."""
    seed = options.seed if options.seed is not None else new_seed()
    return Conversation(StoredSession(new_id(), system=options.system, seed=seed))
