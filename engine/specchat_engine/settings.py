"""What a user may change while an answer streams: it takes effect in the next round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from specchat_engine.allowed import AUTO as AUTO
from specchat_engine.allowed import OneOf, Range, Traced, check, setting
from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DraftLength = int | Literal["auto"]
Sharpness = float | Literal["auto"]
TreeSize = int | Literal["auto"]

USUAL_K = 4
"""The fixed k to start from."""

HEADS = ("eagle3", "mtp", "medusa", "mlp")
"""The drafters that read the target's hidden states."""

DRAFT_MODEL = "model"
"""The drafter of the first draft model."""

FURTHER_MODEL = "model-"
"""What the names of further draft models begin with, before a number from 2 on."""

GRAMMAR = "grammar"
"""The drafter of the tokens that a grammar forces."""

TOGETHER = (DRAFT_MODEL, *HEADS, "lookup", "store", GRAMMAR)
"""The drafters between which "hybrid" chooses. The others gained no more than these where they were measured."""

UNAIDED = {
    GRAMMAR: "forced_tokens:ForcedTokenDrafter",
    "recycling": "token_recycling:TokenRecyclingDrafter",
    "lookahead": "lookahead:LookaheadDrafter",
    "anpd": "adaptive_ngrams:AdaptiveNgramDrafter",
}
"""The drafters that need neither a model nor a text, with their classes in `drafters`. To add one, write a file there
and a line here."""

NEED_TREES = ("lookahead",)
"""The drafters whose drafts are always trees."""

DRAFTERS = (*dict.fromkeys(("hybrid", *TOGETHER, *UNAIDED)), "none")
SEARCHED = ("all", "conversation")
CONTEXT_FULL = ("drop", "summarise", "stop")
THINKING = (AUTO, "on", "off", "low", "medium", "high")
"""How much a model may think before it answers; "auto" leaves that to its chat template."""

VERIFIER_NAMES = ("coupled", "rejection", "block", "typical")
"""The names of `verifiers.VERIFIERS`, which needs numpy; settings do not."""

LOSSY_VERIFIERS = ("typical",)

SAME = "same"
THOUGHT_VERIFIERS = (SAME, *LOSSY_VERIFIERS)
"""The rules for thoughts: that of the answer, or a lossy one."""

DRAFTER_GROUP = "specchat.drafters"
"""The entry point group under which packages install drafters."""

K_LIMIT = 256
NGRAM_LIMIT = 64


def installed_drafters() -> dict[str, EntryPoint]:
    """The drafters of installed packages by name. Nothing of them is imported."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=DRAFTER_GROUP) if point.name not in DRAFTERS}


def drafts_together(name: str) -> bool:
    """Whether "hybrid" may choose this drafter."""
    return name in TOGETHER or name.startswith(FURTHER_MODEL)


def check_ngrams(shortest: int, longest: int) -> None:
    """Raises SettingError for n-gram lengths that prompt lookup cannot have."""
    if not 1 <= shortest <= longest <= NGRAM_LIMIT:
        raise SettingError(f"the n-gram lengths are {shortest} to {longest}: use 1 <= min <= max <= {NGRAM_LIMIT}")


@dataclass(frozen=True, slots=True)
class Settings:
    """How the next round is made. `k` 0 and drafter "none" are plain decoding; `max_tokens` 0 means until the end.

    `k` "auto" is chosen anew before each round from measured costs and acceptance. The drafter "hybrid" is the draft
    model, a head, prompt lookup or the grammar, whichever promises most in each round, as far as they are there. A
    drafter of one's own has the name under which `Engine.load` got it, or a package installed it. `lookup` takes effect
    in the next turn: it searches "all" that the session has said and read, or the "conversation" alone. If the text
    depends on drafts, lookup always searches the conversation alone.

    `thought_verifier` is the rule that accepts drafted tokens while the target thinks; "same" is that of the answer.
    With another one, thoughts favour the draft, and the answer follows the target's law given its thought.

    The draft model draws from q to the power of `sharpness`. If it is "auto", the power that agrees best with the
    target is learned; it is 1 if the text depends on drafts and k is fixed.

    `tree` is how many tokens a draft may have beside its chain, which makes it a tree: the target then chooses between
    several continuations. With "auto" it has those that are worth their time, and none if k is fixed. Trees need the
    verifier "coupled" and a memory that can branch.

    An answer ends before a `stop` string, and before one of the ids in `stop_tokens`, as before the tokens with which
    the model ends it.

    `thinking` is how much the target thinks before it answers, as far as its chat template has a switch for it; see
    `prompt.thinking`. A thought has at most `think_tokens` tokens, 0 for any number: then only the mark that closes it
    may follow, and the answer goes on. Both take effect in the next turn.

    `context_full` is what happens when a conversation no longer fits the context: "drop" leaves out its oldest turns,
    and "stop" raises ContextOverflowError. "summarise" is for programs that replace old turns by a summary before they
    ask; a session takes it as "drop".

    Raises SettingError for a value that is not allowed.
    """

    k: DraftLength = setting(AUTO, Range(0, K_LIMIT, "0 is plain decoding", whole=True, auto=True), Traced.PARAMS)
    drafter: str = setting("hybrid", OneOf(DRAFTERS, "the name of a drafter of your own"), Traced.LINE)
    verifier: str = setting("coupled", OneOf(VERIFIER_NAMES), Traced.LINE)
    thought_verifier: str = setting(SAME, OneOf(THOUGHT_VERIFIERS), Traced.LINE_IF_SET)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    sharpness: Sharpness = setting(AUTO, Range(0.1, 100.0, "1 draws from q itself", auto=True))
    tree: TreeSize = setting(AUTO, Range(0, K_LIMIT, "0 is a chain", whole=True, auto=True))
    max_tokens: int = setting(0, Range(0, 2**31 - 1, "0 is no limit", whole=True))
    stop: tuple[str, ...] = ()
    stop_tokens: tuple[int, ...] = ()
    thinking: str = setting(AUTO, OneOf(THINKING), Traced.PARAMS)
    think_tokens: int = setting(0, Range(0, 2**31 - 1, "0 is no limit", whole=True), Traced.PARAMS_IF_SET)
    lookup: str = setting("all", OneOf(SEARCHED))
    context_full: str = setting("drop", OneOf(CONTEXT_FULL))
    ngram_min: int = 2
    ngram_max: int = 32

    def __post_init__(self) -> None:
        check(self)
        check_ngrams(self.ngram_min, self.ngram_max)
        if self.tree not in (0, AUTO) and self.verifier != "coupled":
            raise SettingError(
                f"tree is {self.tree}, which the verifier {self.verifier!r} cannot judge: use coupled, or 0"
            )
        if "" in self.stop:
            raise SettingError("a stop string is empty: it would end every answer at once")

    @property
    def relaxes_thoughts(self) -> bool:
        """Whether thoughts have a rule of their own, which is lossy."""
        return self.thought_verifier != SAME

    @property
    def plain(self) -> Settings:
        """The same without speculation."""
        return replace(self, k=0, drafter="none", verifier="coupled", thought_verifier=SAME)

    @property
    def lossless(self) -> bool:
        """Whether every rule that these settings use is lossless."""
        return self.verifier not in LOSSY_VERIFIERS and not self.relaxes_thoughts


def answer_reserve(n_ctx: int) -> int:
    """How many tokens of a context are kept free for an answer: a longer prompt loses its oldest turns."""
    return min(256, n_ctx // 4)
