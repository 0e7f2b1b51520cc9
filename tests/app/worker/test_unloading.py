"""After an answer, a draft model that never made one faster is unloaded if memory is short, and the user is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.worker.conftest import HELLO, OPTIONS
from specchat.learning import Learning
from specchat.worker.protocol import Ended, Event, Generate, Load, Loaded, Notice, Prepare, WorkerFailed
from specchat.worker.records import keep
from specchat.worker.work import Work
from specchat_engine import Engine, Settings
from specchat_engine.memory.placement import DeviceMemory
from specchat_engine.policy.unloading import Gains
from support.tiny_models import TinyModels

PLENTY, SHORTAGE = 8 * 10**9, 3 * 10**8
PLAIN = Settings(k=0, max_tokens=8)  # nothing is drafted, so that nothing more is lost
DRAFTED = Settings(k=2, drafter="model", max_tokens=8)


@dataclass
class Worked:
    """The engine's side of the pipe, in this process, on a machine with so much free memory of 16 GB."""

    free: int = SHORTAGE
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.work = Work(self.events.append, lambda: DeviceMemory("CPU", "cpu", self.free, 16 * 10**9))

    def load(self, models: TinyModels, *further: Path) -> None:
        options = replace(OPTIONS, drafts=tuple(map(str, further)))
        self.work.do(Load(str(models.target), str(models.draft), options), bool)
        assert isinstance(self.events[-1], Loaded)

    def answer(self, settings: Settings = PLAIN) -> Event:
        command = Generate(HELLO, 0, 0, 7, settings)
        self.events.clear()
        self.work.hear(command)
        self.work.do(command, bool)
        return self.events[-1]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


@pytest.fixture
def worked() -> Iterator[Worked]:
    made = Worked()
    yield made
    made.work.close()


def lost(record: Gains, *names: str) -> None:
    """The drafters of these names were tried, and never paid."""
    for name in names:
        for _ in range(100):
            record.observe("prose", name, 5.0, 1)


def has_lost(models: TinyModels, *names: str, further: int = 1) -> None:
    """Keeps a record in which these drafters never paid, as earlier answers would have left it."""
    options = replace(OPTIONS, drafts=(str(models.draft),) * further)
    with Engine.load(models.target, models.draft, options) as engine:
        lost(engine.controller.gains, *names)
        keep(engine)


def test_the_draft_model_that_never_paid_is_unloaded_after_the_answer_with_a_notice(
    worked: Worked, tiny_models: TinyModels
) -> None:
    has_lost(tiny_models, "model-2")
    worked.load(tiny_models, tiny_models.draft)
    first = worked.answer(DRAFTED)
    assert worked.notices == [
        "model-2 (draft.gguf) was unloaded: memory is short (300.0 MB free), and it has not made answers faster. "
        "It comes back when the models are loaded again, as at the next start."
    ]
    assert isinstance(first, Ended)
    assert worked.events.index(Notice(worked.notices[0])) == len(worked.events) - 2
    worked.work.do(Prepare(HELLO, 7, DRAFTED), bool)
    again = worked.answer(DRAFTED)
    assert isinstance(again, Ended)
    assert (again.text, worked.notices) == (first.text, [])
    while worked.work.measure():
        pass
    worked.load(tiny_models, tiny_models.draft)
    loaded = worked.events[-1]
    assert isinstance(loaded, Loaded)
    assert "model-2" in loaded.drafters


def test_it_stays_while_there_is_memory(worked: Worked, tiny_models: TinyModels) -> None:
    has_lost(tiny_models, "model-2")
    worked.free = PLENTY
    worked.load(tiny_models, tiny_models.draft)
    worked.answer()
    assert worked.notices == []
    worked.free = SHORTAGE
    worked.answer()
    assert len(worked.notices) == 1


def test_one_goes_after_each_answer_but_none_that_the_settings_name(worked: Worked, tiny_models: TinyModels) -> None:
    has_lost(tiny_models, "model", "model-2", "model-3", further=2)
    worked.load(tiny_models, tiny_models.draft, tiny_models.draft)
    gone = []
    for _ in range(3):
        worked.answer(replace(DRAFTED, drafter="model-2"))
        gone += [notice.partition(" ")[0] for notice in worked.notices]
    assert sorted(gone) == ["model", "model-3"]


@pytest.mark.parametrize("name", ["model", "model-2"])
def test_an_answer_by_an_unloaded_drafter_is_refused_in_one_line_and_the_next_one_is_given(
    worked: Worked, tiny_models: TinyModels, name: str
) -> None:
    has_lost(tiny_models, name)
    worked.load(tiny_models, tiny_models.draft)
    worked.answer()
    failed = worked.answer(replace(DRAFTED, drafter=name))
    assert failed == WorkerFailed(f"the drafter '{name}' was unloaded: use another, or load the models again")
    assert isinstance(worked.answer(), Ended)


def test_what_the_draft_model_learned_is_not_loaded_again_at_the_next_answer(
    worked: Worked, tiny_models: TinyModels
) -> None:
    Learning().turn(on=True)
    learned = Learning().of(tiny_models.target, tiny_models.draft)
    new = learned.folder / "new.gguf"
    new.parent.mkdir(parents=True, exist_ok=True)
    new.write_bytes(tiny_models.draft.read_bytes())
    learned.adopt(new, 0.5, 0.6)
    with Engine.load(tiny_models.target, tiny_models.draft, replace(OPTIONS, drafts=(str(learned.current),))) as engine:
        lost(engine.controller.gains, "model-2")
        keep(engine)
    worked.load(tiny_models)
    worked.answer()
    assert [notice.partition(" ")[0] for notice in worked.notices] == ["model-2"]
    for _ in range(2):
        worked.answer()
        assert worked.notices == []
