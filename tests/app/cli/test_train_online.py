"""`specchat train online`: a draft learns from recorded turns and is adopted only if it got better on later ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.cli import main
from specchat.learning import Learned, Learning
from specchat_engine import Engine, LoadOptions, SamplingParams, Settings
from specchat_engine.decoding.turn_recorder import TurnRecorder
from specchat_engine.gguf import read_model
from specchat_engine.training import draft_pupils
from support.tiny_models import write_tiny_model


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    target, draft = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    return write_tiny_model(target, sharpness=0.4), write_tiny_model(draft, sharpness=0.2, seed=5)


def recorded(pair: tuple[Path, Path], turns: int) -> Learned:
    """What the draft can learn from after some turns of 200 tokens."""
    learning = Learning()
    learning.turn(on=True)
    learned = learning.of(*pair)
    with Engine.load(*pair, LoadOptions(threads=1)) as engine:
        for number in range(turns):
            settings = Settings(k=4, max_tokens=200, sampling=SamplingParams(temperature=0.8))
            session = engine.session(settings=settings, seed=number)
            session.watch = recorder = TurnRecorder()
            list(session.generate("hello there"))
            turn = recorder.turn(session.prompt_ids, session.answer_ids)
            assert turn is not None
            learned.recorded.add(turn)
            learned.saw(len(turn.best))
    return learned


def train(pair: tuple[Path, Path], minutes: str, *more: str) -> int:
    target, draft = map(str, pair)
    return main(["train", "online", "-m", target, "-d", draft, "--minutes", minutes, *more])


def test_a_draft_that_got_better_is_adopted_and_the_file_it_came_from_stays(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    learned, before = recorded(pair, 22), pair[1].read_bytes()
    assert train(pair, "0.2") == 0
    assert "draft-1.gguf is in use from now on" in capsys.readouterr().err
    (adopted,) = learned.adoptions
    assert adopted.after > adopted.before + 0.005
    assert pair[1].read_bytes() == before
    assert not learned.is_due
    assert not (learned.folder / "training").exists()
    target, current = str(pair[0]), str(learned.current)
    assert (
        main(["verify", "-m", target, "-d", current, "--drafter", "model", "-n", "12", "--prompts", "1", "-k", "3"])
        == 0
    )
    assert main(["learn", "back", "-m", target, "-d", str(pair[1])]) == 0
    assert learned.current == pair[1].resolve()


def test_a_large_draft_learns_through_adapters_and_drafts_better(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_pupils, "LARGE", 10_000)
    learned = recorded(pair, 22)
    assert train(pair, "0.2") == 0
    told = capsys.readouterr().err
    assert "draft.gguf learns through adapters from" in told
    assert "draft-1.gguf is in use from now on" in told
    (adopted,) = learned.adoptions
    assert adopted.after > adopted.before + 0.005
    assert read_model(learned.current).quantisation == read_model(pair[1]).quantisation == "F16"
    with Engine.load(*pair, LoadOptions(threads=1)) as engine:
        before = alpha(engine)
        engine.exchange_draft(learned.current)
        assert alpha(engine) > before
    assert train(pair, "0.02", "--lora", "off") == 0
    assert "draft-1.gguf learns from" in capsys.readouterr().err


def alpha(engine: Engine) -> float:
    """α on turns that were not recorded."""
    accepted = tested = 0
    for seed in range(100, 104):
        settings = Settings(k=4, max_tokens=200, drafter="model", sampling=SamplingParams(temperature=0.8))
        session = engine.session(settings=settings, seed=seed)
        list(session.generate("hello there"))
        accepted += session.stats.num_accepted_tokens
        tested += session.stats.num_tested_tokens
    return accepted / tested


def test_a_draft_that_did_not_get_better_stays(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = recorded(pair, 22)
    monkeypatch.setattr("specchat.cli.train_online.GAIN", 1.0)
    assert train(pair, "0.02") == 0
    assert "the draft stays as it is" in capsys.readouterr().err
    assert learned.current == pair[1].resolve()


def test_what_cannot_be_done_is_one_line(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    learned = recorded(pair, 2)
    assert train(pair, "0.02") == 2
    assert "tokens: give at least 4,000" in capsys.readouterr().err
    assert main(["train", "online", "-m", str(pair[0])]) == 2
    assert "name one with -d" in capsys.readouterr().err
    with learned.training():
        assert train(pair, "0.02") == 1
    assert "another process trains this draft" in capsys.readouterr().err
