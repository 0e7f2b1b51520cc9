"""Split speculation: the draft model computes in this process, the target in a server of specchat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.answer import start_line
from specchat.remote.verifying import Opened, Verifying
from specchat.worker.protocol import ChatMessage, Ended, Event, Generate, Started
from specchat_engine import Engine, LoadOptions, ModelDrafter, Settings
from specchat_engine.decoding.drafts import Context
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.transcript import Transcript
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.settings import AUTO, SAME
from specchat_engine.split import SplitRound, split_answer

_ENDLESS = 2**31
"""The server knows where an answer without a limit ends."""


class SplitSpeculation:
    """A draft model of this machine with the target of a server. Close it at the end."""

    def __init__(self, address: Address, draft: Path, options: LoadOptions, *, pipelined: bool = True) -> None:
        """Connects, and loads the draft model. `pipelined` drafts on while an answer travels.

        Raises RemoteError, and EngineError if the model cannot be loaded.
        """
        self._pipelined = pipelined
        self._address = address
        self._verifying = Verifying(address)
        self._stopped = False
        try:
            self._engine = Engine.load(draft, None, replace(options, head="none"))
        except BaseException:
            self._verifying.close()
            raise
        self.recommended = self._verifying.server.sampling

    def answer(self, messages: Sequence[ChatMessage], settings: Settings, seed: int) -> Iterator[Event]:
        """Started, Round… and Ended. Raises RemoteError, also if the draft model's vocabulary is not the target's.

        The text is that of the target alone with this seed, as an engine on this machine would give it.
        """
        engine, server = self._engine, self._verifying.server
        opened = self._verifying.open(messages, settings, seed)
        self._check_vocabulary(opened)
        question = Generate(
            tuple(messages), 0, 0, seed, replace(settings, sampling=opened.sampling, thought_verifier=SAME)
        )
        line = start_line(server, self._address.host, question, len(opened.prompt_ids))
        draft = {"name": engine.target.name, "n_params": engine.target.n_params}
        yield Started(line | {"draft": draft, "drafter": "model", "verifier": "coupled", "lossless": True})
        vocabulary, prompt = engine.vocabulary, opened.prompt_ids
        stats = TurnStats(prompt_tokens=len(prompt))
        transcript = Transcript.of(settings, vocabulary.piece, vocabulary.ends, settings.max_tokens or _ENDLESS)
        context = Context([*prompt], len(prompt), Sampler(opened.sampling, opened.seed), vocabulary.ends)
        drafter = ModelDrafter(engine.session().pair.target)
        k, end, began = None if settings.k == AUTO else settings.k, None, perf_counter()
        rounds = split_answer(
            drafter, context, self._verifying.draws, k=k, most=opened.longest, pipelined=self._pipelined
        )
        for index, found in enumerate(rounds):
            seen = len(transcript)
            transcript.receive(found.draws.tokens)
            made = self._round(index, found, transcript.texts[seen:], (perf_counter() - began) * 1000)
            stats.observe(made)
            end = found.draws.end
            yield made
            if self._stopped:
                end = end or "cancelled"
                break
        yield Ended(end or "error", transcript.text, stats.to_json() | {"speedup": None})

    def cancel(self) -> None:
        """Ends the answer after its next round; from any thread."""
        self._stopped = True

    def close(self) -> None:
        """Ends the answer on the server, and frees the draft model."""
        self._verifying.close()
        self._engine.close()

    def _check_vocabulary(self, opened: Opened) -> None:
        """Raises RemoteError if the draft model spells the prompt in another way than the target."""
        vocabulary = self._engine.vocabulary
        known = all(token < vocabulary.size for token in opened.prompt_ids)
        if not known or _spelled(self._engine, opened.prompt_ids) != opened.prompt_text:
            name, target = self._engine.target.name, self._verifying.server.model.name
            raise RemoteError(f"{name} has another vocabulary than {target}: use a draft model of the same family")

    def _round(self, index: int, found: SplitRound, texts: Sequence[str], t_ms: float) -> Round:
        """The round of a question. The server tells no probabilities."""
        accepted, drafted = found.accepted, found.drafted
        outcomes = [Outcome.ACCEPTED] * accepted + [Outcome.REJECTED] + [Outcome.DISCARDED] * len(drafted)
        whole = accepted == len(found.draws.tokens)  # the answer ended with an accepted token
        if whole:
            outcomes[accepted] = Outcome.DISCARDED
        tokens = tuple(
            DraftedToken(token, texts[place] if place < accepted else _spelled(self._engine, [token]), None, None, out)
            for place, (token, out) in enumerate(zip(drafted, outcomes, strict=False))
        )
        kind = TokenKind.CORRECTION if accepted < len(drafted) else TokenKind.BONUS
        own = TargetToken(found.draws.tokens[-1], texts[-1], None, kind if drafted else TokenKind.PLAIN)
        return Round(
            index,
            "model" if drafted else "none",
            len(drafted),
            f"{found.useful} of {found.ahead} drafted ahead were right",
            tokens,
            TargetToken(None, "", None, TokenKind.NONE) if whole else own,
            (),
            RoundTimes(found.draft_ms, found.asked_ms, 0.0),
            t_ms,
        )


def _spelled(engine: Engine, tokens: Sequence[int]) -> str:
    """The text of tokens, control tokens included, as the server spells a prompt."""
    vocabulary = engine.vocabulary
    return "".join(vocabulary.piece(token).decode("utf-8", "replace") or vocabulary.text(token) for token in tokens)
