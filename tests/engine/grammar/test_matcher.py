"""llguidance on a vocabulary of bytes and words: what may come where, and what has to come."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine import DecodeError
from specchat_engine.grammar.constraint import Constraint, GrammarState
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.vocabulary import Vocabulary
from support.tiny_models import EngineFiles


def allowed(vocabulary: Vocabulary, state: GrammarState) -> set[bytes]:
    every = np.arange(vocabulary.size)
    ids = every[state.allows(every)].tolist()
    return {b"end" if token in vocabulary.ends else vocabulary.piece(token) for token in ids}


def what_may_come(vocabulary: Vocabulary, grammar: str, said: bytes = b"") -> set[bytes]:
    """What may come behind some bytes, said one by one."""
    state: GrammarState | None = vocabulary.compile_grammar(grammar)
    for byte in said:
        state = state.after(vocabulary.letters[byte]) if state else None
    assert state is not None
    return allowed(vocabulary, state)


def test_tokens_of_several_characters_are_understood(vocabulary: Vocabulary) -> None:
    assert what_may_come(vocabulary, 'root ::= "hello" | "lla"') == {b"h", b"he", b"l", b"ll"}
    assert what_may_come(vocabulary, 'root ::= "hel" [lm] | "lla"', b"he") == {b"l", b"ll"}


def test_an_answer_may_end_where_the_grammar_is_complete_and_only_there(vocabulary: Vocabulary) -> None:
    assert what_may_come(vocabulary, "root ::= [ab]{1,2}") == {b"a", b"b"}
    assert what_may_come(vocabulary, "root ::= [ab]{1,2}", b"a") == {b"a", b"b", b"end"}
    assert what_may_come(vocabulary, "root ::= [ab]{1,2}", b"ab") == {b"end"}


@pytest.mark.parametrize("character", ["é", "日", "😀"])
def test_a_character_of_several_bytes_comes_whole(vocabulary: Vocabulary, character: str) -> None:
    data = character.encode()
    for length in range(len(data)):
        grammar = f'root ::= "{character}"*'
        expected = {data[length : length + 1]} | ({b"end"} if length == 0 else set())
        assert what_may_come(vocabulary, grammar, data[:length]) == expected
    assert what_may_come(vocabulary, "root ::= [à-ü日-本😀-😎]", data[:1]) >= {data[1:2]}


def test_an_answer_never_ends_inside_a_character(vocabulary: Vocabulary) -> None:
    assert b"end" in what_may_come(vocabulary, "root ::= [^x]*")
    assert b"end" not in what_may_come(vocabulary, "root ::= [^x]*", b"\xe6")
    assert b"end" not in what_may_come(vocabulary, "root ::= [^x]*", b"\xe6\x97")
    assert b"end" in what_may_come(vocabulary, "root ::= [^x]*", b"\xe6\x97\xa5")


def test_bytes_that_are_no_utf8_come_nowhere(vocabulary: Vocabulary) -> None:
    first = what_may_come(vocabulary, "root ::= .*")
    assert first.isdisjoint({b"\x80", b"\xc0", b"\xc1", b"\xf5", b"\xff"})
    assert first >= {b"\xc2", b"\xf4"}
    second = what_may_come(vocabulary, "root ::= .*", b"\xe0")
    assert second == {bytes((byte,)) for byte in range(0xA0, 0xC0)}
    surrogates = what_may_come(vocabulary, "root ::= .*", b"\xed")
    assert surrogates == {bytes((byte,)) for byte in range(0x80, 0xA0)}


def test_a_control_token_comes_nowhere_whatever_it_is_called(vocabulary: Vocabulary) -> None:
    assert what_may_come(vocabulary, 'root ::= "<|im_start|>"') == {b"<"}
    assert b"" not in what_may_come(vocabulary, "root ::= .*")


def test_ids_beyond_the_vocabulary_are_excluded(vocabulary: Vocabulary) -> None:
    state = vocabulary.compile_grammar("root ::= .*")
    assert state.allows(np.array([vocabulary.size, 10**6, 2**31 - 1])).tolist() == [False] * 3
    assert state.after(vocabulary.size) is None


def test_an_excluded_token_is_no_place_and_the_process_lives_on(vocabulary: Vocabulary) -> None:
    state = vocabulary.compile_grammar('root ::= "abc"')
    excluded = [token for token in range(vocabulary.size) if vocabulary.piece(token) != b"a"]
    assert all(state.after(token) is None for token in excluded)


def test_a_place_does_not_change_when_another_is_made_from_it(vocabulary: Vocabulary) -> None:
    state = vocabulary.compile_grammar('root ::= "abc" | "b"')
    before = allowed(vocabulary, state)
    (token,) = vocabulary.tokenize("a", special=False)
    following = state.after(token)
    assert following is not None
    assert allowed(vocabulary, state) == before == {b"a", b"b"}
    assert allowed(vocabulary, following) == {b"b"}


def test_a_closed_model_compiles_no_grammar(files: EngineFiles) -> None:
    model = LlamaModel(files.draft)
    model.close()
    with pytest.raises(DecodeError, match="the model was closed"):
        model.vocabulary.compile_grammar('root ::= "a"')


def forced(vocabulary: Vocabulary, grammar: str, said: str = "", shown: dict[int, bytes] | None = None) -> str:
    """The text that has to follow what was said."""
    ids = vocabulary.tokenize(said, special=False)
    constraint = Constraint(vocabulary.compile_grammar(grammar, shown or {}))
    names = shown or {}
    tokens = constraint.forced(ids, 99)
    return b"".join(names.get(token) or vocabulary.piece(token) for token in tokens).decode()


def test_what_the_grammar_leaves_no_choice_of_is_forced(vocabulary: Vocabulary) -> None:
    assert forced(vocabulary, 'root ::= "hello there" [!?]') == "hello there"
    assert forced(vocabulary, 'root ::= "hello" | "help"')[:3] in ("", "h", "he", "hel")
    assert forced(vocabulary, 'root ::= ("hello" | "world") " again"', "world") == " again"
    assert forced(vocabulary, 'root ::= "say " root "!" | "no"', "say no") == "!"
    assert forced(vocabulary, 'root ::= "a"*') == ""
    assert forced(vocabulary, 'root ::= "done"', "done") == ""


def test_a_place_allows_only_its_forced_token_and_knows_the_other_spellings(vocabulary: Vocabulary) -> None:
    state: GrammarState | None = vocabulary.compile_grammar('root ::= "hello"')
    assert state is not None
    every = np.arange(vocabulary.size)
    assert every[state.allows(every)].tolist() == [state.forced]
    for byte in b"hello":
        state = state.after(vocabulary.letters[byte]) if state else None
    assert state is not None
    assert allowed(vocabulary, state) == {b"end"}


def test_a_control_token_that_is_shown_counts_as_its_text(vocabulary: Vocabulary) -> None:
    (token,) = vocabulary.tokenize("<|im_start|>", special=True)
    shown = {token: b"<|im_start|>"}
    state = vocabulary.compile_grammar('root ::= "<|im_start|>a"', shown)
    assert state.forced == token
    assert forced(vocabulary, 'root ::= "<|im_start|>a" [bc]', shown=shown) == "<|im_start|>a"
