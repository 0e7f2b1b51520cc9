"""What was read is kept between two runs, and nothing is restored that could be wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat_engine import Engine, EngineError, LoadOptions, Settings
from specchat_engine.llama.context import LlamaContext
from support.tiny_models import EngineFiles

OPTIONS = LoadOptions(threads=1, n_ctx=512)
PROMPT = "a prompt that takes a while to read, again and again and again"


def load(files: EngineFiles, options: LoadOptions = OPTIONS) -> Engine:
    return Engine.load(files.target, files.draft, options)


@pytest.fixture
def kept(files: EngineFiles, tmp_path: Path) -> Iterator[Path]:
    """A folder that holds the memory of one answer."""
    with load(files) as engine:
        session = engine.session(settings=Settings(k=2, drafter="model", max_tokens=8), seed=1)
        list(session.generate(PROMPT))
        engine.save_memory(tmp_path / "kept")
        yield tmp_path / "kept"


def test_a_conversation_goes_on_without_being_read_again(
    kept: Path, files: EngineFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    decode = LlamaContext._decode
    with load(files) as engine, load(files) as other:
        answers = []
        for one in (other, engine):
            if one is engine:
                assert one.restore_memory(kept)
                monkeypatch.setattr(
                    LlamaContext,
                    "_decode",
                    lambda self, tokens, rows: (read.append(len(tokens)), decode(self, tokens, rows))[1],
                )
            session = one.session(settings=Settings(k=0, max_tokens=4), seed=1)
            list(session.generate(PROMPT))
            answers.append(session.text)
        assert answers[0] == answers[1]
        assert sum(read) < 12 < session.stats.prompt_tokens


@pytest.mark.parametrize("damage", ["a byte", "the end", "a file", "the manifest"])
def test_what_is_not_whole_is_not_restored(kept: Path, files: EngineFiles, damage: str) -> None:
    state = kept / "target.state"
    if damage == "a byte":
        data = bytearray(state.read_bytes())
        data[len(data) // 2] ^= 1
        state.write_bytes(data)
    elif damage == "the end":
        state.write_bytes(state.read_bytes()[:-10])
    elif damage == "a file":
        (kept / "draft.state").unlink()
    else:
        (kept / "manifest.json").write_text("{")
    with load(files) as engine:
        list(engine.session(settings=Settings(k=0, max_tokens=2)).generate("hello"))
        before = engine.memory.length
        assert not engine.restore_memory(kept)
        assert engine.memory.length == before > 0, "what was read in the meantime stays"


def test_a_memory_of_other_weights_or_options_is_not_restored(kept: Path, files: EngineFiles, tmp_path: Path) -> None:
    with load(files, LoadOptions(threads=1, n_ctx=512, cache_type_k="f32")) as engine:
        assert not engine.restore_memory(kept)
    with Engine.load(files.target, options=OPTIONS) as engine:
        assert not engine.restore_memory(kept)
    twin = tmp_path / files.target.name
    shutil.copy(files.target, twin)
    with Engine.load(twin, files.draft, OPTIONS) as engine:
        assert not engine.restore_memory(kept), "the same name and size, but who knows what is in it"


def test_where_nothing_was_kept_nothing_is_restored(files: EngineFiles, tmp_path: Path) -> None:
    with load(files) as engine:
        assert not engine.restore_memory(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error_in_one_line(files: EngineFiles, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with load(files) as engine, pytest.raises(EngineError, match="cannot be saved"):
        engine.save_memory(taken)


def test_what_takes_too_much_is_not_kept_and_what_was_kept_before_stays(kept: Path, files: EngineFiles) -> None:
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    with load(files) as engine:
        list(engine.session(settings=Settings(k=0, max_tokens=2)).generate("hello"))
        size = sum(memory.state_bytes for memory in engine._memories.values())
        with pytest.raises(EngineError, match=r"take .* MiB, more than the limit of .* MiB"):
            engine.save_memory(kept, size - 1)
        assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
        engine.save_memory(kept, size)
        written = sum(path.stat().st_size for path in kept.glob("*.state"))
        assert size <= written < size + 100_000
        assert engine.restore_memory(kept)
