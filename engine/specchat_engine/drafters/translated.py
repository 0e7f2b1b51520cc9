"""Drafting with another vocabulary: the draft model reads and writes text instead of the target's tokens.

The target's text is tokenized again by the draft's vocabulary and continued there. The drafted text comes back as the
target's tokens, as far as these are certain. Sources: "universal assisted generation", Mamou et al., 2024; Timor et
al., arXiv 2502.05202 (the algorithm SLEM, here verified by our own rules).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Context, Draft, DrafterTraits
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.drafters.model import ModelDrafter
from specchat_engine.drafters.translated_text import DraftedText, Entries, GrowingText, parted
from specchat_engine.errors import TemplateError
from specchat_engine.models import SessionModel, SessionVocabulary
from specchat_engine.prompt.encoding import Fitted, common_prefix, encode
from specchat_engine.prompt.messages import Asked, Prompt
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.sampling.candidates import Candidates

_STEPS, _MORE = 4, 8
"""The most draft steps for each wanted token, and how many more in all."""

_LITTLE = 8
"""Up to this many tokens are always read again in the pass of the first draft step, at almost no cost."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The different vocabularies of a target and a draft model, and how the draft's prompts are made.

    `template` is the draft's own chat template, None if it has none.
    """

    target: SessionVocabulary
    draft: SessionVocabulary
    template: ChatTemplate | None
    entries: Entries = field(init=False)
    own_entries: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", Entries(self.target))
        object.__setattr__(self, "own_entries", Entries(self.draft))

    def prompt(self, request: Asked) -> list[int]:
        """The conversation in the draft's ids, by its own template: a chat model knows its own control tokens, and the
        target's only as text. Plain paragraphs if there is no template or it fails, or the text of a raw prompt."""
        prompt = Prompt.of(request)
        if prompt.raw is None and self.template:
            try:
                return encode(prompt, self.template, self.draft)
            except TemplateError:
                pass
        if isinstance(prompt.raw, str):
            text = prompt.raw
        elif prompt.raw is not None:
            text = b"".join(map(self.target.piece, prompt.raw)).decode("utf-8", "replace")
        else:
            text = "".join(f"{message.content}\n\n" for message in prompt.messages)
        return self.draft.tokenize(text, special=False, add_bos=self.draft.adds_bos)

    @property
    def end(self) -> int | None:
        """The target's token for the end of an answer, None if it has none."""
        return next(
            (token for name in ("eot", "eos") if (token := self.target.special[name]) in self.target.ends), None
        )


class TranslatedDrafter(ModelDrafter):
    """Proposes how a draft model with another vocabulary would continue the text.

    It drafts greedily: the shared noise belongs to token ids and means nothing in another vocabulary, and without it
    the likeliest token is accepted more often than a drawn one. A proposal is therefore a function of the text, a point
    mass. It drafts about one token more than it proposes, which makes the tokens before it certain.
    """

    source = "translated"
    law: ProposalLaw = "point"
    traits = DrafterTraits(ModelDrafter.name, evidence="confidence", cost="step")

    def __init__(self, model: SessionModel, translation: Translation, name: str = ModelDrafter.name) -> None:
        super().__init__(model, name)
        self._translation = translation
        self._pieces, self._entries = translation.target.piece, translation.entries
        self._own_pieces, self._own_entries = translation.draft.piece, translation.own_entries
        self._end = translation.end
        self._held: list[int] = []
        self._begin([], 0)

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Opens a turn with these tokens, the prompt's first: keeps the common prefix in memory and drops the rest."""
        self._begin(self._translation.prompt(prompt.asked), len(prompt.tokens))
        self._follow(tokens)
        wanted = self._wanted
        self.model.keep(wanted[:-1])
        self._held = wanted[: self.model.length]

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Reads its own tokens except for the last, as far as its context reaches."""
        self._follow(tokens)
        wanted = self._wanted
        try:
            self.model.read(wanted[: min(len(wanted) - 1, self.model.capacity)], cancelled)
        finally:
            self._held = wanted[: self.model.length]

    def unread(self, tokens: Sequence[int]) -> int:
        """How many of its own tokens it has not read yet; a few count as one."""
        self._follow(tokens)
        unread = len(self._synchronised()) - self.model.length
        return unread if unread > _LITTLE else 1

    def full(self, tokens: Sequence[int]) -> str:
        """Why it cannot draft after these tokens, empty if it can."""
        self._follow(tokens)
        length = len(self._prompt) + len(self._said.tokens)
        if not length:
            return "the draft model has no text to continue"
        full = length > self.model.capacity
        return f"the draft's context of {self.model.capacity} tokens is full" if full else ""

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k of the target's tokens: those of the drafted text that no further text would change."""
        note = self.full(context.tokens)
        if note:
            return Draft((), source=self.source, note=note)
        wanted = self._synchronised()
        self._secure(wanted)
        unread: Sequence[int] = wanted[self.model.length :]
        text = DraftedText(self._rest)
        tokens: list[int] = []
        confidence: list[float] = []
        worth_more = context.worth_more
        for _ in range(min(self.model.capacity - len(wanted) + 1, _STEPS * k + _MORE)):
            row = self.model.advance(unread, 1)[0]
            self._held += unread
            token = self._best(row, text.owed)
            if token is None:
                break
            sure = context.proposer.confidence(row, Candidates.certain(token), token) if worth_more else 1.0
            ended = token in self._translation.draft.ends
            if not text.add(b"" if ended else self._own_pieces(token), sure, ended=ended):
                break
            certain = self._translated(text, len(tokens))
            if [target_token for target_token, _ in certain[: len(tokens)]] != tokens:
                break
            for target_token, length in certain[len(tokens) : k]:
                tokens.append(target_token)
                if worth_more:
                    confidence.append(text.confidence(length))
                    if not worth_more(confidence[-1]):
                        return self._proposal(tokens, confidence)
            if len(tokens) >= k or ended:
                break
            unread = (token,)
        return self._proposal(tokens, confidence)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Drops what was not accepted."""
        self._follow(context.tokens)
        self._synchronised()

    @property
    def _wanted(self) -> list[int]:
        """The context in the draft's own tokens."""
        return self._prompt + self._said.tokens

    def _begin(self, prompt: list[int], length: int) -> None:
        """Starts after a prompt of its own tokens, which is `length` tokens of the target."""
        self._prompt = prompt
        self._seen = length
        self._settled = 0
        self._said = GrowingText(self._translation.draft)
        self._meant = GrowingText(self._translation.target)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def _rest(self) -> bytes:
        """The bytes of a character that the target has begun."""
        return self._decoder.getstate()[0]

    def _follow(self, tokens: Sequence[int]) -> None:
        """Adds what the target has said since the last call."""
        if len(tokens) > self._seen:
            more = self._decoder.decode(b"".join(map(self._pieces, tokens[self._seen :])))
            self._said.extend(more)
            self._meant.extend(more)
            self._seen = len(tokens)

    def _synchronised(self) -> list[int]:
        """The context in the draft's own tokens; afterwards its memory holds the beginning of it, never all of it."""
        wanted, held = self._wanted, self._held
        settled = len(self._prompt) + self._said.settled
        start = min(self._settled, settled, len(held))
        common = min(start + common_prefix(held[start:], wanted[start:]), max(len(wanted) - 1, 0))
        self._settled = settled
        if common < len(held):
            self.model.rewind(common)
            del held[common:]
        return wanted

    def _secure(self, wanted: list[int]) -> None:
        """Makes a checkpoint, if the memory needs one, at the part that will stay: all but the last words."""
        stays = min(len(self._prompt) + self._said.settled, len(wanted) - 1)
        if not self.model.goes_back_freely and self.model.length <= stays:
            more = wanted[self.model.length : stays]
            if more:
                self.model.advance(more, 0)
                self._held += more
            self.model.checkpoint()

    def _best(self, row: NDArray[np.float32], owed: bytes) -> int | None:
        """The likeliest token of a row [V] that begins with the owed bytes; None if there is none."""
        if not owed:
            return int(row.argmax())
        ids = self._own_entries.along(owed)
        return int(ids[row[ids].argmax()]) if len(ids) else None

    def _translated(self, drafted: DraftedText, known: int) -> list[tuple[int, int]]:
        """The certain tokens of the drafted text, each with the length in bytes of the text up to its end.

        They are tokens of the whole text if a token begins where the draft begins. Otherwise the target ended inside a
        word that its tokenizer would not split, and they are tokens of the draft alone.
        """
        more, rest = drafted.text, len(self._rest)
        size = len(more.encode())
        if size <= rest:
            return [(self._end, size + 1)] if drafted.ended and not rest and self._end is not None else []
        tokens = self._meant.continued(more)
        text = self._meant.tail + more
        begin = parted(tokens, size - rest, self._pieces)
        if begin is None and not rest:
            tokens, text = self._translation.target.tokenize(more, special=False), more
            begin = parted(tokens, size, self._pieces)
        if begin is None or not b"".join(map(self._pieces, tokens)).endswith(text.encode()):
            return []
        whole = drafted.ended and drafted.complete
        count = len(tokens) if whole else self._entries.certain(text, tokens, begin + known)
        certain, length = [], rest
        for token in tokens[begin:count]:
            length += len(self._pieces(token))
            certain.append((token, length))
        return [*certain, (self._end, length + 1)] if whole and self._end is not None else certain

    def _proposal(self, tokens: list[int], confidence: list[float]) -> Draft:
        note = "" if tokens else "no token of the drafted text is certain"
        return Draft(tuple(tokens), (), self.source, note, tuple(confidence))
