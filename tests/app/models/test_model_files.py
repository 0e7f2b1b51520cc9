from __future__ import annotations

from dataclasses import dataclass

import pytest

from specchat.models.model_files import choose, group, quantisation


@dataclass(frozen=True)
class File:
    path: str
    size: int = 1


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("Qwen3-4B-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen2.5-0.5b-instruct-q8_0.gguf", "Q8_0"),
        ("gemma-3-1b-it-f16.gguf", "F16"),
        ("model-fp16.gguf", "F16"),
        ("Llama-3.2-3B.BF16.gguf", "BF16"),
        ("Qwen3-30B-A3B-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("Qwen3-30B-A3B-UD-IQ1_S.gguf", "UD-IQ1_S"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("Q6_K/model-00001-of-00002.gguf", "Q6_K"),
        ("model-Q5_0-00001-of-00002.gguf", "Q5_0"),
        ("bitnet-TQ1_0.gguf", "TQ1_0"),
        ("IQ4_NL.gguf", "IQ4_NL"),
        ("Q4_K_M-imatrix/model.IQ3_XXS.gguf", "IQ3_XXS"),
        ("model.gguf", ""),
        ("FAQ4U.gguf", ""),
        ("Qwen-7B.gguf", ""),
    ],
)
def test_the_quantisation_is_read_from_the_name(path: str, found: str) -> None:
    assert quantisation(path) == found


def test_parts_are_one_model_in_their_order() -> None:
    parts = [File(f"big-Q4_0-{number:05}-of-00003.gguf", number) for number in (3, 1, 2)]
    [model] = group([*parts, File("README.md"), File("mmproj-F16.gguf"), File("imatrix.gguf")])
    assert [file.path[-19:-14] for file in model.files] == ["00001", "00002", "00003"]
    assert (model.size, model.quantisation, model.missing) == (6, "Q4_0", ())


def test_missing_parts_are_named_but_not_all_that_a_file_name_claims() -> None:
    [model] = group([File("big-00001-of-00003.gguf"), File("big-00003-of-00003.gguf")])
    assert model.missing == ("big-00002-of-00003.gguf",)
    [model] = group([File("bomb-00001-of-99999.gguf")])
    assert len(model.missing) == 8


def test_models_are_sorted_by_size_and_four_bits_are_the_default() -> None:
    models = group([File("m-F16.gguf", 16), File("m-Q4_K_M.gguf", 5), File("m-Q2_K.gguf", 3)])
    assert [model.quantisation for model in models] == ["Q2_K", "Q4_K_M", "F16"]
    assert choose(models, "").quantisation == "Q4_K_M"  # type: ignore[union-attr]


@pytest.mark.parametrize("wanted", ["q2_k", "Q2_K", "m-Q2_K.gguf", "m-Q2_K", "sub/m-Q2_K.gguf"])
def test_a_model_is_chosen_by_quantisation_or_file(wanted: str) -> None:
    chosen = choose(group([File("sub/m-Q2_K.gguf"), File("m-F16.gguf")]), wanted)
    assert chosen is not None
    assert chosen.path == "sub/m-Q2_K.gguf"


def test_a_dynamic_variant_stands_in_for_a_quantisation_that_is_not_there() -> None:
    dynamic = File("m-UD-Q4_K_M.gguf", 5)
    only = group([dynamic, File("m-UD-Q4_K_XL.gguf", 6), File("m-Q8_0.gguf", 9)])
    for wanted in ("Q4_K_M", "q4_k_m", ""):
        assert choose(only, wanted).path == dynamic.path  # type: ignore[union-attr]
    both = group([dynamic, File("m-Q4_K_M.gguf", 5)])
    assert choose(both, "Q4_K_M").path == "m-Q4_K_M.gguf"  # type: ignore[union-attr]


def test_nothing_is_chosen_if_nothing_fits() -> None:
    assert choose(group([File("m-F16.gguf")]), "Q4_0") is None
    assert choose(group([File("README.md")]), "") is None
