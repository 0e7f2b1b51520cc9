"""A file that passes the gate and ends llama.cpp, and with it the engine's process."""

from __future__ import annotations

from pathlib import Path

from app.engine_process.conftest import OPTIONS, answer, load, text_of
from specchat.engine_process.local_client import LocalClient, named
from specchat.engine_process.protocol import Load, Loading, TaskFailed
from support.tiny_models import ASSERTION, TinyModels, write_crafted_model


def test_it_ends_in_one_line_that_names_the_file_and_another_pair_can_be_loaded(
    fresh: LocalClient, tmp_path: Path, tiny_models: TinyModels
) -> None:
    crafted = write_crafted_model(tmp_path / "crafted.gguf")
    for target, draft in ((crafted, None), (tiny_models.target, crafted)):
        *progress, failed = fresh.load(target, draft, OPTIONS)
        assert all(isinstance(event, Loading) for event in progress)
        assert isinstance(failed, TaskFailed)
        assert failed.died
        assert len(failed.message.splitlines()) == 1
        assert f"llama.cpp cannot use {crafted}: " in failed.message
        assert ASSERTION in failed.message
        assert not fresh.alive
    load(fresh, tiny_models)
    assert text_of(answer(fresh))


def test_a_death_without_a_word_names_what_was_being_loaded() -> None:
    killed = TaskFailed("the engine's process ended (SIGKILL: killed from outside)", died=True)
    message = named(killed, Load("/m/t.gguf", "/m/d.gguf", OPTIONS)).message
    assert message == f"{killed.message}; it was loading /m/t.gguf and /m/d.gguf"
    known = TaskFailed(f"{killed.message}: /m/t.gguf is cut short", died=True)
    refused = TaskFailed("out of memory")
    assert [named(one, Load("/m/t.gguf", None, OPTIONS)) for one in (known, refused)] == [known, refused]
