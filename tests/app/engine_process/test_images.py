"""Images on their way to the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.engine_process.conftest import OPTIONS, SHORT, last_of, text_of
from specchat.engine_process.images import UNSEEN, messages_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Event, Generate, Loaded, Started, TaskFailed
from specchat_engine import Image
from specchat_engine.errors import SettingError
from specchat_engine.llama.mtmd import has_mtmd
from support.tiny_models import write_tiny_pair
from support.vision_models import IMAGE_TOKENS, png, write_projector


def shown(folder: Path, *seeds: int) -> tuple[str, ...]:
    for seed in seeds:
        (folder / f"{seed}.png").write_bytes(png(seed))
    return tuple(str(folder / f"{seed}.png") for seed in seeds)


def test_the_engine_gets_the_bytes_of_the_files(tmp_path: Path) -> None:
    (message,) = messages_of([ChatMessage("user", "Hi", images=shown(tmp_path, 1, 2))])
    assert message.images == (Image(png(1)), Image(png(2)))
    assert message.content == "Hi"


def test_a_target_that_sees_nothing_gets_a_note_on_earlier_images_and_refuses_the_last(tmp_path: Path) -> None:
    talk = [ChatMessage("user", "Look", images=shown(tmp_path, 1, 2)), ChatMessage("assistant", "Yes")]
    first, _, last = messages_of([*talk, ChatMessage("user", "And?")], "it is blind")
    assert (first.images, first.content) == ((), f"{UNSEEN}\n{UNSEEN}\nLook")
    assert last.content == "And?"
    with pytest.raises(SettingError, match="it is blind"):
        messages_of(talk, "it is blind")


def test_an_image_that_was_deleted_is_missed_only_where_it_is_asked_about(tmp_path: Path) -> None:
    gone = ChatMessage("user", "Look", images=(str(tmp_path / "gone.png"), *shown(tmp_path, 1)))
    first, _ = messages_of([gone, ChatMessage("user", "And?")])
    assert (first.images, first.content) == ((Image(png(1)),), f"{UNSEEN}\nLook")
    with pytest.raises(SettingError, match=r"the image gone\.png cannot be read"):
        messages_of([gone])


@pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1")
def test_the_process_answers_about_an_image(client: LocalClient, tmp_path: Path) -> None:
    pair = write_tiny_pair(tmp_path)
    write_projector(tmp_path / "mmproj-f16.gguf")
    loaded = last_of(Loaded, client.load(pair.target, pair.draft, OPTIONS))
    assert not loaded.no_images_because

    def answered(*seeds: int) -> list[Event]:
        message = ChatMessage("user", "What is this?", images=shown(tmp_path, *seeds))
        return list(client.generate(Generate((message,), seed=7, settings=SHORT)))

    events = [answered(), answered(1), answered(2), answered(1)]
    texts = [text_of(each) for each in events]
    assert len(set(texts)) == 3
    assert texts[1] == texts[3]
    lengths = [next(event.line["prompt_tokens"] for event in each if isinstance(event, Started)) for each in events]
    assert [length - lengths[0] for length in lengths[1:]] == [IMAGE_TOKENS + 1] * 3


def test_the_process_says_why_it_sees_no_image(loaded: LocalClient, tmp_path: Path) -> None:
    message = ChatMessage("user", "What is this?", images=shown(tmp_path, 1))
    last = last_of(TaskFailed, loaded.generate(Generate((message,), seed=7, settings=SHORT)))
    assert "name one with --mmproj FILE" in last.message
