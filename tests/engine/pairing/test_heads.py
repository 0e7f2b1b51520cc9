"""A head meets llama.cpp only if nothing about it would end the process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from specchat_engine import LoadOptions, PairError
from specchat_engine.gguf import GgufHeader, TensorInfo, Value, read_model
from specchat_engine.pairing import Grade, head_in, judge, own_head, trainable_head, what_drafts
from support.headers import changed
from support.heads import LAYERS, random_eagle, random_predicting
from support.tiny_models import write_tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("heads")
    write_tiny_model(folder / "target.gguf", layers=3)
    random_eagle(folder / "head.gguf", folder / "target.gguf")
    random_predicting(folder / "predicting.gguf", folder / "target.gguf")
    random_predicting(folder / "chained.gguf", folder / "target.gguf", 3)
    return folder


@pytest.fixture
def target(folder: Path) -> GgufHeader:
    return read_model(folder / "target.gguf")


@pytest.fixture
def head(folder: Path) -> GgufHeader:
    return read_model(folder / "head.gguf")


def test_a_head_says_which_layers_it_reads(folder: Path, target: GgufHeader, head: GgufHeader) -> None:
    found = head_in(target, head, folder / "head.gguf")
    assert (found.name, found.layers, found.path) == ("eagle3", LAYERS, str(folder / "head.gguf"))


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (
            {"general__architecture": "eagle2"},
            "its kind is eagle2, only eagle3, medusa, mlp and gemma4-assistant can be run",
        ),
        ({"general__architecture": "dflash"}, "it is a DFlash head, which drafts whole blocks by diffusion"),
        ({"eagle3__target_hidden_size": 4096}, "it reads hidden states of 4096 numbers, the target's have 64"),
        ({"eagle3__vocab_size": 9}, "its vocabulary has 9 tokens, the target's has 261"),
        ({"eagle3__block_count": 2}, "it has 2 layers, EAGLE-3 has one"),
        ({"eagle3__attention__key_length": 8}, "its keys and values have different lengths"),
        ({"eagle3__target_layers": np.array([0, 1])}, r"it reads the layers 0, 1; three of 0 to 2 can be read"),
        ({"eagle3__target_layers": np.array([0, 1, 3])}, r"it reads the layers 0, 1, 3; three of 0 to 2"),
        ({"eagle3__target_layers": np.array([-1, 1, 2])}, r"it reads the layers -1, 1, 2; three of 0 to 2"),
        ({"eagle3__target_layers": np.array([0, 1, np.nan])}, r"it reads the layers 0, 1; three of 0 to 2"),
        ({"eagle3__target_layers": 7}, "it reads the layers none; three of 0 to 2"),
        ({"eagle3__embedding_length": 32}, "it takes embeddings from the target, whose width is 64, and its own is 32"),
    ],
)
def test_a_head_for_another_target_is_refused_with_the_reason(
    folder: Path, target: GgufHeader, head: GgufHeader, keys: dict[str, Value], reason: str
) -> None:
    with pytest.raises(PairError, match=rf"head\.gguf is not a head for this target: {reason}"):
        head_in(target, changed(head, **keys), folder / "head.gguf")


@pytest.mark.parametrize("architecture", ["gemma3", "unheard-of"])
def test_an_architecture_without_an_entry_for_a_head_is_refused_with_the_reason(
    folder: Path, target: GgufHeader, head: GgufHeader, architecture: str
) -> None:
    without = changed(target, general__architecture=architecture)
    with pytest.raises(PairError, match=rf"llama\.cpp does not hand out the hidden states of {architecture}"):
        head_in(without, head, folder / "head.gguf")
    with pytest.raises(PairError, match=rf"the target \({architecture}\) has no layers for multi-token prediction"):
        what_drafts(without, None, "mtp")
    assistant = changed(head, general__architecture="gemma4-assistant")
    with pytest.raises(PairError, match=f"it is for gemma4, the target is {architecture}"):
        head_in(without, assistant, folder / "head.gguf")
    assert trainable_head(without) == "mlp"


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (TensorInfo("token_embd.weight", (64, 9), 1, 0, 576, 1152), "its embeddings have the shape"),
        (TensorInfo("d2t", (9,), 26, 0, 9, 36), "its d2t is I32"),
        (TensorInfo("d2t", (300,), 27, 0, 300, 2400), "its d2t is I64 of the shape"),
        (TensorInfo("d2t", (3, 3), 27, 0, 9, 72), "its d2t is I64 of the shape"),
        (TensorInfo("d2t", (9,), 27, 2**40, 9, 72), "its d2t names tokens outside of 0 to 260"),
    ],
)
def test_a_tensor_that_native_code_would_misread_is_refused(
    folder: Path, target: GgufHeader, head: GgufHeader, tensor: TensorInfo, reason: str
) -> None:
    with pytest.raises(PairError, match=reason):
        head_in(target, replace(head, tensors=(*head.tensors, tensor)), folder / "head.gguf")


def test_a_target_drafts_for_itself_with_one_layer_or_with_several(folder: Path, target: GgufHeader) -> None:
    one, three = own_head(read_model(folder / "predicting.gguf")), own_head(read_model(folder / "chained.gguf"))
    assert one is not None
    assert three is not None
    assert (one.name, one.layers, one.path) == ("mtp", (3,), "")
    assert one.longest > 3 == three.longest
    assert own_head(target) is None


def test_prediction_layers_without_their_tensors_or_of_another_architecture_are_left_alone(folder: Path) -> None:
    header = read_model(folder / "predicting.gguf")
    for needed in ("eh_proj", "enorm", "blk.3.attn_qkv", "blk.3.ffn_up"):
        without = replace(header, tensors=tuple(one for one in header.tensors if needed not in one.name))
        assert own_head(without) is None
    unknown = changed(header, general__architecture="exaone-moe")
    unknown = changed(unknown, **{"exaone-moe.nextn_predict_layers": 1, "exaone-moe.block_count": 4})
    assert own_head(unknown) is None


def test_several_prediction_layers_where_llama_cpp_allows_one_are_left_alone(folder: Path) -> None:
    three = read_model(folder / "chained.gguf")
    keys = {key.replace("mimo2.", "qwen35."): value for key, value in three.metadata.items()}
    other = replace(three, metadata={**keys, "general.architecture": "qwen35"})
    assert own_head(three) is not None
    assert own_head(other) is None


def test_prediction_layers_of_a_model_that_sees_pictures_are_left_alone(folder: Path, target: GgufHeader) -> None:
    header = changed(target, general__architecture="glm4moe")
    keys = {"glm4moe.block_count": 4, "glm4moe.nextn_predict_layers": 1}
    tensors = tuple(
        TensorInfo(f"blk.3.{name}.weight", (1,), 0, 0, 1, 4)
        for name in ("nextn.eh_proj", "nextn.enorm", "nextn.hnorm", "ffn_gate_inp")
    )
    header = replace(header, metadata={**header.metadata, **keys}, tensors=tensors)
    assert own_head(header) is not None
    assert own_head(changed(header, glm4moe__rope__dimension_sections=np.array([8, 12, 12, 0]))) is None


def of_assistant(**keys: Value) -> GgufHeader:
    """The header of an assistant for the target below, changed."""
    kept = {
        "general.architecture": "gemma4-assistant",
        "gemma4-assistant.block_count": 2,
        "gemma4-assistant.nextn_predict_layers": 2,
        "gemma4-assistant.embedding_length": 256,
        "gemma4-assistant.embedding_length_out": 2048,
        "gemma4-assistant.vocab_size": 1000,
        "gemma4-assistant.attention.head_count": 4,
        "gemma4-assistant.attention.head_count_kv": 2,
        "gemma4-assistant.attention.key_length": 512,
        "gemma4-assistant.attention.value_length": 512,
        "gemma4-assistant.attention.key_length_swa": 256,
        "gemma4-assistant.attention.value_length_swa": 256,
        "gemma4-assistant.attention.sliding_window_pattern": np.array([True, False]),
    }
    changes = {f"gemma4-assistant.{key.replace('__', '.')}": value for key, value in keys.items()}
    return GgufHeader(3, "little", 32, {**kept, **changes}, (), 0, 0)


def of_gemma4(pattern: tuple[bool, ...] = (True, True, False)) -> GgufHeader:
    """The header of its target."""
    keys = {key.replace("-assistant", ""): value for key, value in of_assistant().metadata.items()}
    keys |= {
        "general.architecture": "gemma4",
        "gemma4.block_count": 3,
        "gemma4.nextn_predict_layers": 0,
        "gemma4.embedding_length": 2048,
        "gemma4.attention.sliding_window_pattern": np.array(pattern),
    }
    return GgufHeader(3, "little", 32, keys, (), 0, 0)


def test_an_assistant_reads_the_last_output_of_its_target() -> None:
    found = head_in(of_gemma4(), of_assistant(), Path("assistant.gguf"))
    assert (found.name, found.layers, found.path) == ("mtp", (3,), "assistant.gguf")


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (of_assistant(embedding_length_out=1536), "it reads hidden states of 1536 numbers, the target's have 2048"),
        (of_assistant(vocab_size=999), "its vocabulary has 999 tokens, the target's has 1000"),
        (of_assistant(nextn_predict_layers=1), "it has 2 layers, not all of them for drafting"),
        (of_assistant(attention__key_length=256), r"its layer 1 reads \(2, 256, 512\) heads, .* keeps \(2, 512, 512\)"),
        (of_assistant(attention__value_length_swa=64), r"its layer 0 reads \(2, 256, 64\) heads"),
        (of_assistant(attention__head_count_kv=1), r"its layer 0 reads \(1, 256, 256\) heads"),
    ],
)
def test_an_assistant_that_cannot_read_its_targets_memory_is_refused(head: GgufHeader, reason: str) -> None:
    with pytest.raises(PairError, match=reason):
        head_in(of_gemma4(), head, Path("assistant.gguf"))


def test_an_assistant_needs_its_kind_of_target(target: GgufHeader) -> None:
    with pytest.raises(PairError, match="it is for gemma4, the target is llama"):
        head_in(target, of_assistant(), Path("assistant.gguf"))
    with pytest.raises(PairError, match="whose last layer sees everything and whose last but one sees a window"):
        head_in(of_gemma4((True, False, True)), of_assistant(), Path("assistant.gguf"))


def test_the_judge_says_who_drafts_for_itself_and_which_head_fits(
    folder: Path, target: GgufHeader, head: GgufHeader
) -> None:
    def about(target: GgufHeader, draft: GgufHeader | None) -> tuple[Grade, str]:
        lines = judge(target, draft, LoadOptions(n_ctx=256)).lines
        (line,) = [line for line in lines if line.topic == "trained head"]
        return line.grade, line.finding

    own = about(read_model(folder / "predicting.gguf"), None)
    assert own == (Grade.OK, "the target drafts for itself, with layers for multi-token prediction")
    assert about(target, head) == (Grade.OK, "eagle3, drafts from the target's hidden states")
    grade, finding = about(target, changed(head, eagle3__block_count=2))
    assert grade is Grade.BLOCKER
    assert "it has 2 layers" in finding
