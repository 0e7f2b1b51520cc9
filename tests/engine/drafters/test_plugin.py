"""A drafter of one's own is chosen by its name, and whatever it does, the text is the target's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Draft, Drafter, Engine, EngineError, LoadOptions, SettingError, Settings, Verdict
from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters import MakeDrafter, with_installed
from specchat_engine.models import SessionVocabulary
from specchat_engine.settings import UNAIDED, DraftLength
from support.controllers import knowing
from support.conversations import GREEDY, ask, conversation, letters, model_of, read_by_a_fresh_session
from support.installed import install_drafter
from support.tiny_models import EngineFiles

LAW = letters(3, end=-4)


class Scribe:
    """Proposes what it is given, and writes down what it is asked."""

    name = "scribe"
    law: Any = "point"

    def __init__(self, proposal: Callable[[Context, int], Any]) -> None:
        self.proposal = proposal
        self.began: list[list[int]] = []
        self.observed: list[tuple[Draft, int]] = []

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        self.began.append([*tokens])

    def propose(self, context: Context, k: int) -> Draft:
        return self.proposal(context, k)  # type: ignore[no-any-return]

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        self.observed.append((draft, verdict.accepted))


def under_the_name(scribe: Scribe) -> dict[str, MakeDrafter]:
    def make(_vocabulary: SessionVocabulary) -> Scribe:
        return scribe

    return {"scribe": make}


def knows_the_answer(context: Context, k: int) -> Draft:
    """The target's own greedy continuation."""
    tokens = list(context.tokens)
    for _ in range(k):
        tokens.append(int(LAW(tuple(tokens)).argmax()))
    return Draft(tuple(tokens[len(context.tokens) :]))


@pytest.mark.parametrize("k", [1, 4, "auto"])
@pytest.mark.parametrize("verifier", ["coupled", "rejection", "block"])
def test_its_rounds_and_statistics_have_its_name(k: DraftLength, verifier: str) -> None:
    plain = ask(conversation(LAW, sampling=GREEDY))
    scribe = Scribe(knows_the_answer)
    given = {"k": k, "verifier": verifier, "sampling": GREEDY, "controller": knowing(0.05, 0.05)}
    session = conversation(LAW, drafter="scribe", plugins=under_the_name(scribe), **given)
    rounds = [*session.generate("hello")]
    assert session.text == plain
    assert {event.source for event in rounds} <= {"scribe", "none"}
    assert session.stats.num_draft_tokens > 0
    assert session.stats.acceptance_rate == 1
    assert [accepted for _, accepted in scribe.observed] == [event.num_accepted for event in rounds if event.drafted]
    assert model_of(session).tokens == read_by_a_fresh_session(session)


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 258), max_size=6), min_size=1, max_size=8), st.integers(1, 6), st.data())
def test_nonsense_changes_no_text(proposals: list[list[int]], k: int, data: st.DataObject) -> None:
    def nonsense(_context: Context, k: int) -> Draft:
        return Draft(tuple(data.draw(st.sampled_from(proposals))[:k]))

    session = conversation(LAW, drafter="scribe", k=k, plugins=under_the_name(Scribe(nonsense)))
    assert ask(session) == ask(conversation(LAW))


def test_propose_is_all_that_one_has_to_write() -> None:
    class Knowing(Drafter):
        def propose(self, context: Context, k: int) -> Draft:
            return knows_the_answer(context, k)

    given = {"k": 4, "sampling": GREEDY, "plugins": {"knowing": lambda _vocabulary: Knowing()}}
    session = conversation(LAW, drafter="knowing", **given)
    assert ask(session) == ask(conversation(LAW, sampling=GREEDY))
    assert session.stats.acceptance_rate == 1


def raising(_context: Context, _k: int) -> Draft:
    raise ValueError("no idea")


BROKEN: dict[str, tuple[Callable[[Context, int], Any], str]] = {
    "raises": (raising, "failed with ValueError: no idea: mend it"),
    "proposes nothing at all": (lambda _context, _k: None, "failed with AttributeError"),
    "proposes too much": (
        lambda _context, k: Draft((97,) * (k + 1)),
        r"proposed \d tokens: propose at most k, which is \d",
    ),
    "is out of the vocabulary": (
        lambda _context, _k: Draft((97, 259)),
        "proposed token 259: this vocabulary has 0 to 258",
    ),
    "is negative": (lambda _context, _k: Draft((-1,)), "proposed token -1"),
    "proposes fractions": (lambda _context, _k: Draft((97.5,)), "failed with TypeError"),  # type: ignore[arg-type]
    "gives too few rows": (lambda _context, _k: Draft((97, 98), (None,)), "gave 1 rows of q for 2 tokens"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("k", [4, "auto"])
@pytest.mark.parametrize(("proposal", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_one_is_one_error_and_the_session_goes_on(
    proposal: Callable[[Context, int], Any], message: str, k: DraftLength
) -> None:
    session = conversation(LAW, drafter="scribe", k=k, plugins=under_the_name(Scribe(proposal)))
    with pytest.raises(EngineError, match="the drafter 'scribe' " + message):
        ask(session)
    assert session.end_reason == "error"
    session.messages, session.settings = [], Settings(drafter="none", max_tokens=60)
    assert ask(session) == ask(conversation(LAW))


def test_one_that_cannot_be_made_is_an_error_when_it_is_chosen() -> None:
    def make(_vocabulary: SessionVocabulary) -> Scribe:
        raise ImportError("no module named clever")

    session = conversation(LAW, drafter="none", plugins={"scribe": make})
    ask(session)
    session.settings = Settings(drafter="scribe", k=4)
    with pytest.raises(EngineError, match="'scribe' failed with ImportError: no module named clever"):
        ask(session)


@pytest.mark.parametrize(
    ("law", "message"),
    [("unknown", "cannot be lossless with the drafter 'scribe'"), ("some", "declares the law 'some'")],
)
def test_a_verifier_that_compares_p_with_q_needs_its_law(law: str, message: str) -> None:
    scribe = Scribe(knows_the_answer)
    scribe.law = law
    session = conversation(LAW, drafter="scribe", verifier="rejection", plugins=under_the_name(scribe))
    with pytest.raises(EngineError, match=message):
        ask(session)


def test_it_hears_of_each_turn_once_and_only_if_it_drafts() -> None:
    scribe = Scribe(lambda _context, _k: Draft(()))
    session = conversation(LAW, drafter="scribe", k=2, plugins=under_the_name(scribe))
    ask(session, "x" * 100)
    ask(session, "again")
    session.settings = Settings(drafter="none", max_tokens=20)
    ask(session, "and again")
    assert len(scribe.began) == 2


def test_it_takes_over_in_the_middle_of_an_answer() -> None:
    scribe = Scribe(knows_the_answer)
    session = conversation(LAW, drafter="none", sampling=GREEDY, plugins=under_the_name(scribe))
    rounds = session.generate("hello")
    assert next(rounds).source == "none"
    session.settings = Settings(drafter="scribe", k=3, sampling=GREEDY, max_tokens=60)
    assert next(rounds).source == "scribe"
    assert scribe.began == [session.prompt_ids + session.answer_ids[:1]]
    assert {event.source for event in rounds} == {"scribe"}


def test_hybrid_drafting_leaves_it_out() -> None:
    scribe = Scribe(raising)
    session = conversation(LAW, LAW, drafter="hybrid", k=4, plugins=under_the_name(scribe))
    assert ask(session) == ask(conversation(LAW))
    assert scribe.began == []


@pytest.mark.parametrize("name", ["model", "lookup", "hybrid", "none", ""])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match="cannot be named"):
        with_installed({name: under_the_name(Scribe(raising))["scribe"]})


def test_a_drafter_that_is_not_there_is_refused(files: EngineFiles) -> None:
    nobody = Settings(drafter="nobody")
    refusal = "there is no drafter 'nobody': use hybrid, model, .*, lookup, store, .*, none"
    with (
        Engine.load(files.target, options=LoadOptions(threads=1)) as engine,
        pytest.raises(SettingError, match=refusal),
    ):
        engine.session(settings=nobody)
    session = conversation(LAW, plugins=under_the_name(Scribe(raising)))
    rounds = session.generate("hello")
    next(rounds)
    session.settings = nobody
    with pytest.raises(SettingError, match=f"{refusal}, scribe"):
        next(rounds)


def test_an_installed_one_is_there_by_its_name_and_imported_when_it_drafts(
    files: EngineFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(install_drafter(tmp_path, "eager", "raise RuntimeError('imported')"))
    with Engine.load(files.target, options=LoadOptions(threads=1)) as engine:
        assert engine.drafters == ("hybrid", "lookup", *UNAIDED, "eager", "none")
        session = engine.session(settings=Settings(max_tokens=2, k=2), seed=1)
        ask(session)
        session.settings = Settings(drafter="eager", k=2, max_tokens=4)
        with pytest.raises(EngineError, match="'eager' failed with RuntimeError: imported"):
            ask(session)


def test_the_example_of_the_documentation_runs(
    files: EngineFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "drafters.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "target.gguf").symlink_to(files.target)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "drafters.md", "exec"), {})  # noqa: S102
    *rounds, counts = capsys.readouterr().out.splitlines()
    assert any(line.startswith("bigrams ") for line in rounds)
    assert re.fullmatch(r"\d+ of [1-9]\d* accepted", counts)
