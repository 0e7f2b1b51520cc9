"""`specchat train online`: a draft learns from recorded turns and is adopted only if it got better on later ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.cli import main
from specchat.cli.train_online import teacher_of
from specchat.learning import Learned, Learning
from specchat.settings.paths import sessions_db
from specchat.store import Store
from specchat_engine import Engine, LoadOptions, SamplingParams, Settings
from specchat_engine.decoding.recorder import TurnRecorder
from specchat_engine.gguf import read_model
from specchat_engine.training import draft_pupils
from support.stored import begun, said
from support.tiny_models import write_tiny_model
from support.trainings import StepClock


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    target, draft = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    return write_tiny_model(target, sharpness=0.4), write_tiny_model(draft, sharpness=0.2, seed=5)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small steps at a high rate, so that seconds of a clock that counts steps have to do."""
    for module in ("runs", "trainer"):
        monkeypatch.setattr(f"specchat_engine.training.{module}.time", StepClock())
    monkeypatch.setattr("specchat.cli.train_online._MATRIX_RATE", 0.01)
    monkeypatch.setattr("specchat.cli.train_online._STEP_TOKENS", 256)


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


def answers(pair: tuple[Path, Path], count: int) -> list[str]:
    """What the target says to a greeting, with different seeds."""
    said = []
    with Engine.load(*pair, LoadOptions(threads=1)) as engine:
        settings = Settings(k=0, max_tokens=200, sampling=SamplingParams(temperature=0.8))
        for number in range(count):
            session = engine.session(settings=settings, seed=number)
            list(session.generate("hello there"))
            said.append(session.text)
    return said


def stored(texts: list[str]) -> None:
    """Chats with these answers, the first of which is the oldest."""
    with Store.open(sessions_db()) as store:
        for time, text in enumerate(texts, 1):
            session = begun(store, created=float(time))
            question = said(store, session, "hello there", created=float(time))
            said(store, session, text, question, role="assistant", created=float(time))


def test_a_draft_that_got_better_is_adopted_and_the_file_it_came_from_stays(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    learned, before = recorded(pair, 22), pair[1].read_bytes()
    assert train(pair, "0.05") == 0
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
    assert train(pair, "0.05") == 0
    errors = capsys.readouterr().err
    assert "draft.gguf learns through adapters from" in errors
    assert "draft-1.gguf is in use from now on" in errors
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


def test_past_chats_and_files_are_learned_in_one_go_without_a_recorded_turn(
    pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.cli.train_online.GAIN", -1.0)
    texts = answers(pair, 28)
    stored(texts[8:])
    (tmp_path / "texts").mkdir()
    for number, text in enumerate(texts[:8]):
        (tmp_path / "texts" / f"{number}.txt").write_text(text)
    assert train(pair, "0.02", "--data", "chats", "--data", str(tmp_path / "texts")) == 0
    errors = capsys.readouterr().err
    assert "draft-1.gguf is used once learning is on: specchat learn on" in errors
    (learned,) = Learning().all()
    assert len(learned.adoptions) == 1
    assert main(["learn", "forget"]) == 0
    assert not learned.folder.exists()


def test_the_latest_turns_are_held_out_and_not_learned_as_chats(pair: tuple[Path, Path], tmp_path: Path) -> None:
    learned = recorded(pair, 3)
    stored(["an old story", *answers(pair, 3), "a later story"])
    (tmp_path / "notes.txt").write_text("a note about lighthouses")
    teacher = teacher_of(pair[0], learned, ["chats", str(tmp_path / "notes.txt")])
    teacher.close()
    with Engine.load(pair[0], None, LoadOptions(threads=1)) as engine:
        pieces = [
            b"".join(engine.vocabulary.piece(token) for token, own in zip(one.ids, one.learned, strict=True) if own)
            for one in teacher.lessons
        ]
    assert [piece.decode() for piece in pieces[:3]] == ["a note about lighthouses", "an old story", "a later story"]
    assert [one.ids for one in teacher.lessons[3:]] == [turn.ids.tolist() for turn in learned.recorded.turns()]


def test_data_that_cannot_be_read_is_one_line(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert train(pair, "0.02", "--data", "missing") == 2
    assert "the data missing does not exist" in capsys.readouterr().err
    assert train(pair, "0.02", "--data", "chats") == 2
    assert "there are no stored chats yet" in capsys.readouterr().err


def test_what_cannot_be_done_is_one_line(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    learned = recorded(pair, 2)
    assert train(pair, "0.02") == 2
    assert "tokens: give at least 4,000" in capsys.readouterr().err
    assert main(["train", "online", "-m", str(pair[0])]) == 2
    assert "name one with -d" in capsys.readouterr().err
    with learned.training():
        assert train(pair, "0.02") == 1
    assert "another process trains this draft" in capsys.readouterr().err
