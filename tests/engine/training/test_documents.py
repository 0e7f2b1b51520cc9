"""Texts and chats become documents in a target's tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specchat_engine import Message
from specchat_engine.llama.model import LlamaModel
from specchat_engine.loaded import template_of
from specchat_engine.training.documents import documents_of
from specchat_engine.training.texts import Chat
from support.tiny_models import write_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaModel]:
    model = LlamaModel(write_tiny_model(tmp_path_factory.mktemp("documents") / "target.gguf"))
    yield model
    model.close()


def test_documents_are_at_most_so_long_and_learned_whole(model: LlamaModel) -> None:
    found = [*documents_of(["abcdefgh", "x"], model.vocabulary, template_of(model), 5)]
    assert all(2 <= len(document.ids) <= 5 for document in found)
    assert all(all(document.learned) for document in found)
    assert (
        b"".join(model.vocabulary.piece(token) for document in found[:2] for token in document.ids)[-8:] == b"abcdefgh"
    )


def test_of_a_chat_only_the_answers_are_learned_each_after_what_was_said(model: LlamaModel) -> None:
    said = [("user", "Hi"), ("assistant", "Hello you"), ("user", "And?"), ("assistant", "Yes")]
    chat = Chat(tuple(Message(role, content) for role, content in said))  # type: ignore[arg-type]
    one, two = documents_of([chat], model.vocabulary, template_of(model), 1000)
    piece = model.vocabulary.piece
    end = model.vocabulary.special["eot"] if model.vocabulary.special["eot"] >= 0 else model.vocabulary.special["eos"]
    for document, answer in ((one, b"Hello you"), (two, b"Yes")):
        learned = [token for token, taught in zip(document.ids, document.learned, strict=True) if taught]
        assert b"".join(map(piece, learned[:-1])) == answer
        assert learned[-1] == end
        assert document.learned == sorted(document.learned)
    assert b"Hello you" in b"".join(map(piece, two.ids[: two.learned.index(True)]))
    (cut, _) = documents_of([chat], model.vocabulary, template_of(model), 4)
    assert cut.ids == one.ids[-4:]
    assert cut.learned == [True] * 4


def test_a_chat_without_an_answer_has_nothing_to_learn(model: LlamaModel) -> None:
    assert [*documents_of([Chat((Message("user", "Hi"),))], model.vocabulary, template_of(model), 99)] == []
