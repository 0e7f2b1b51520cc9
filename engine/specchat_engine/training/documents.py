"""Turns texts and chats into documents to learn from, in a target's tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specchat_engine.models import SessionVocabulary
from specchat_engine.prompt.encoding import encode
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.texts import Chat, Text


def documents_of(
    texts: Iterable[Text], vocabulary: SessionVocabulary, template: ChatTemplate, longest: int
) -> Iterator[TokenDocument]:
    """The texts in documents of at most `longest` tokens.

    Of a plain text every token is learned, of a chat its answers. A longer text becomes several documents, a longer
    chat keeps its end.
    """
    for text in texts:
        if isinstance(text, Chat):
            yield from _answers(text, vocabulary, template, longest)
            continue
        ids = vocabulary.tokenize(text, special=False, add_bos=vocabulary.adds_bos)
        for start in range(0, len(ids), longest):
            part = ids[start : start + longest]
            if len(part) > 1:
                yield TokenDocument(part, [True] * len(part))


def _answers(
    chat: Chat, vocabulary: SessionVocabulary, template: ChatTemplate, longest: int
) -> Iterator[TokenDocument]:
    """A document for each answer, with what was said before."""
    special = vocabulary.special
    end = next((special[name] for name in ("eot", "eos") if special[name] >= 0), None)
    for index, message in enumerate(chat.messages):
        if message.role != "assistant" or not index or not message.content:
            continue
        prompt = encode(chat.messages[:index], template, vocabulary)
        answer = vocabulary.tokenize(message.content, special=False) + ([] if end is None else [end])
        ids = [*prompt, *answer]
        yield TokenDocument(ids[-longest:], ([False] * len(prompt) + [True] * len(answer))[-longest:])
