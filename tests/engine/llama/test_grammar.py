"""llama.cpp's grammars on a vocabulary of bytes: what may come where, and what is refused before it does harm."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator

import llama_cpp
import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine import DecodeError, SamplingParams, SettingError
from specchat_engine.llama.grammar import LlamaGrammarState
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.sampling.sampler import Sampler, constraint_of
from support.tiny_models import EngineFiles


@pytest.fixture(autouse=True)
def samplers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts the native samplers that were made and freed."""
    counts: Counter[str] = Counter()
    for kind, name in (("made", "init_grammar"), ("made", "clone"), ("freed", "free")):
        original = getattr(llama_cpp.llama_cpp, f"llama_sampler_{name}")

        def counting(*given: object, original: object = original, kind: str = kind) -> object:
            result = original(*given)  # type: ignore[operator]
            counts[kind] += bool(result) or kind == "freed"
            return result

        monkeypatch.setattr(llama_cpp.llama_cpp, f"llama_sampler_{name}", counting)
    yield counts
    assert counts["made"] == counts["freed"]


def allowed(vocabulary: Vocabulary, state: LlamaGrammarState) -> set[bytes]:
    every = np.arange(vocabulary.size)
    ids = every[state.allows(every)].tolist()
    return {b"end" if token in vocabulary.ends else vocabulary.piece(token) for token in ids}


def what_may_come(vocabulary: Vocabulary, grammar: str, said: bytes = b"") -> set[bytes]:
    """What may come behind some bytes, said one by one."""
    state = vocabulary.compile_grammar(grammar)
    for byte in said:
        token = next(token for token in range(vocabulary.size) if vocabulary.piece(token) == bytes((byte,)))
        following = state.after(token)
        state.close()
        assert following is not None
        state = following
    found = allowed(vocabulary, state)
    state.close()
    return found


def test_tokens_of_several_characters_are_understood(vocabulary: Vocabulary) -> None:
    assert what_may_come(vocabulary, 'root ::= "hello" | "lla"') == {b"h", b"he", b"l", b"ll"}
    assert what_may_come(vocabulary, 'root ::= "hello" | "lla"', b"he") == {b"l", b"ll"}


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
    state.close()


def test_an_excluded_token_is_no_place_and_the_process_lives_on(vocabulary: Vocabulary) -> None:
    state = vocabulary.compile_grammar('root ::= "abc"')
    excluded = [token for token in range(vocabulary.size) if vocabulary.piece(token) != b"a"]
    assert all(state.after(token) is None for token in excluded)
    state.close()


def test_a_place_does_not_change_when_another_is_made_from_it(vocabulary: Vocabulary) -> None:
    state = vocabulary.compile_grammar('root ::= "abc" | "b"')
    before = allowed(vocabulary, state)
    (token,) = vocabulary.tokenize("a", special=False)
    following = state.after(token)
    assert following is not None
    assert allowed(vocabulary, state) == before == {b"a", b"b"}
    state.close()
    assert allowed(vocabulary, following) == {b"b"}
    following.close()


def test_a_closed_place_is_an_error_and_closing_twice_is_none(vocabulary: Vocabulary, files: EngineFiles) -> None:
    state = vocabulary.compile_grammar('root ::= "a"')
    state.close()
    state.close()
    with pytest.raises(DecodeError, match="was closed"):
        state.allows(np.array([0]))
    model = LlamaModel(files.draft)
    state = model.vocabulary.compile_grammar('root ::= "a"')
    model.close()
    with pytest.raises(DecodeError, match="the model was closed"):
        state.after(0)
    state.close()


@pytest.mark.parametrize(
    ("grammar", "named"),
    [
        (" \n", "it has no rules"),
        ("# only a comment", "it has no rules"),
        ('rot ::= "a"', "grammar does not contain a 'root' rule"),
        ("root ::= thing", "Undefined rule identifier 'thing'"),
        ('root := "a"', "line 1: expecting ::= before ':= \"a\"'"),
        ('root ::= "a"\n\nb ::= )', "line 3: expecting newline or end before ')'"),
        ('root ::= "a', "unexpected end of input"),
        (r'root ::= "\q"', r"line 1: unknown escape before"),
        ('root ::= ("a" | )*', "left recursion"),
        ("root ::= \ud800", "not valid UTF-8"),
    ],
)
def test_a_grammar_that_cannot_be_used_is_one_line_that_says_where(
    vocabulary: Vocabulary, capfd: pytest.CaptureFixture[str], grammar: str, named: str
) -> None:
    with pytest.raises(SettingError) as caught:
        vocabulary.compile_grammar(grammar)
    assert named in str(caught.value)
    assert len(str(caught.value)) < 160
    assert capfd.readouterr().err == "", "llama.cpp prints its complaint, which would tear the screen"


def llama_cpp_distribution(
    vocabulary: Vocabulary, row: NDArray[np.float32], params: SamplingParams
) -> dict[int, float]:
    """What llama.cpp's own chain makes of a row at the beginning of an answer, the grammar first."""
    biases = (llama_cpp.llama_logit_bias * len(params.logit_bias))(*params.logit_bias)
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    for sampler in (
        llama_cpp.llama_sampler_init_grammar(vocabulary._handle, params.grammar.encode(), b"root"),
        llama_cpp.llama_sampler_init_logit_bias(len(row), len(biases), biases),
        llama_cpp.llama_sampler_init_top_k(params.top_k),
        llama_cpp.llama_sampler_init_top_p(params.top_p, 1),
        llama_cpp.llama_sampler_init_min_p(params.min_p, 1),
        llama_cpp.llama_sampler_init_temp(params.temperature),
    ):
        llama_cpp.llama_sampler_chain_add(chain, sampler)
    data = (llama_cpp.llama_token_data * len(row))(*((token, float(logit), 0.0) for token, logit in enumerate(row)))
    array = llama_cpp.llama_token_data_array(data=data, size=len(row), selected=-1, sorted=False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    kept = {array.data[place].id: array.data[place].logit for place in range(array.size)}
    llama_cpp.llama_sampler_free(chain)
    best = max(kept.values())
    weights = {token: float(np.exp(logit - best)) for token, logit in kept.items() if np.isfinite(logit)}
    return {token: weight / sum(weights.values()) for token, weight in weights.items() if weight > 1e-9}


@pytest.mark.parametrize("grammar", ["root ::= [a-z]+", 'root ::= "q" | "h" .*', "root ::= .*"])
@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_the_candidates_are_those_of_llama_cpp_with_the_grammar_first(
    vocabulary: Vocabulary, grammar: str, scale: float
) -> None:
    row = (np.random.default_rng(4).standard_normal(vocabulary.size) * scale).astype(np.float32)
    row[vocabulary.silent | vocabulary.partial] = -60.0
    (biased,) = vocabulary.tokenize("q", special=False)
    for top_k, min_p in ((40, 0.05), (0, 0.0), (3, 0.2)):
        params = SamplingParams(top_k=top_k, min_p=min_p, logit_bias=((biased, 1.5), (9, -np.inf)), grammar=grammar)
        constraint = constraint_of(params, vocabulary)
        assert constraint is not None
        candidates = Sampler(params, 1, constraint).candidates(row, ())
        constraint.close()
        found = dict(zip(candidates.ids.tolist(), np.exp(candidates.log_p).tolist(), strict=True))
        found = {token: p for token, p in found.items() if p > 1e-9}
        assert found == pytest.approx(llama_cpp_distribution(vocabulary, row, params), rel=1e-3, abs=1e-6)
