"""The gate: what llama.cpp would not survive is refused before it sees the file; models may come in several files."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from specchat_engine import Engine, HeaderError, LoadOptions, ModelFileError, Settings
from specchat_engine.gguf import reader
from specchat_engine.gguf.header import TYPES
from specchat_engine.gguf.reader import read_file, read_model
from specchat_engine.llama.model import LlamaModel
from support.headers import Kind, Typed, write_header
from support.memory_models import write_memory_model
from support.tiny_models import write_tiny_model

TENSOR = {"token_embd.weight": np.zeros((4, 8), np.float32)}


def written(folder: Path, **keys: Typed) -> Path:
    metadata = {f"llama.{key.replace('__', '.')}": value for key, value in keys.items()}
    return write_header(folder / "some.gguf", metadata, tensors=TENSOR)


def number(value: int) -> Typed:
    return value, Kind.UINT32, None


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"block_count": number(0)}, "it has 0 layers"),
        ({"block_count": number(513)}, "it has 513 layers"),
        ({"block_count": number(2), "nextn_predict_layers": number(3)}, "more prediction layers"),
        ({"expert_count": number(1025), "expert_used_count": number(2)}, "1025 experts"),
        ({"block_count": number(1), "expert_count": number(4), "expert_used_count": number(5)}, "5 of 4 experts"),
        ({"block_count": number(1), "expert_count": number(4)}, "4 experts and uses none"),
        ({"rope__scaling__type": ("odd", Kind.STRING, None)}, "rope scaling"),
        ({"embedding_length": number(2**32 - 1)}, "embedding_length is 4294967295"),
        ({"attention__head_count_kv": ([1, -7], Kind.ARRAY, Kind.INT32)}, "head_count_kv holds 1"),
        (
            {"attention__head_count": number(2), "embedding_length": number(16), "block_count": number(1)}
            | {"rope__dimension_count": number(10)},
            "rope turns 10 dimensions of heads of 8",
        ),
        ({"context_length": number(2**24 + 1)}, "context_length is 16777217, 0 to 16777216 can be loaded"),
        ({"nested": ([[1], [2]], Kind.ARRAY, None)}, "arrays in arrays"),
    ],
)
def test_what_would_end_the_process_is_rejected_before(tmp_path: Path, keys: dict[str, Typed], named: str) -> None:
    path = written(tmp_path, **keys)
    with pytest.raises(HeaderError, match="could not be loaded") as caught:
        LlamaModel(path)
    assert named in str(caught.value)


def with_type(path: Path, tensor: str, kind: str) -> Path:
    """The file with another type for one tensor, whose data is zeros at the end of the file."""
    code = next(code for code, (name, *_) in TYPES.items() if name == kind)
    header = read_file(path)
    info = next(info for info in header.tensors if info.name == tensor)
    encoded = tensor.encode()
    data = bytearray(path.read_bytes())
    place = data.index(len(encoded).to_bytes(8, "little") + encoded) + 8 + len(encoded) + 4 + 8 * len(info.shape)
    data += bytes(-len(data) % 32)
    data[place : place + 12] = code.to_bytes(4, "little") + (len(data) - header.data_offset).to_bytes(8, "little")
    path.write_bytes(data + bytes(info.elements * 8))
    return path


@pytest.mark.parametrize("kind", ["Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64"])
@pytest.mark.parametrize("tensor", ["token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"])
def test_weights_of_a_type_without_products_are_rejected(tmp_path: Path, tensor: str, kind: str) -> None:
    keys: dict[str, Typed] = {"llama.context_length": number(256)}
    path = write_header(tmp_path / "some.gguf", keys, tensors={tensor: np.zeros((4, 256), np.float32)})
    with pytest.raises(HeaderError, match=f"{tensor}' is of type {kind}, which llama.cpp cannot multiply with"):
        read_model(with_type(path, tensor, kind))


@pytest.mark.parametrize("name", ["d2t", "masked_embd_ordering.weight", "blk.3.ffn_gate_tid2eid.weight"])
def test_tables_of_ids_are_no_weights(tmp_path: Path, name: str) -> None:
    tensors = TENSOR | {name: np.zeros(8, np.int64)}
    keys: dict[str, Typed] = {"llama.context_length": number(256)}
    assert read_model(write_header(tmp_path / "some.gguf", keys, tensors=tensors)).tensors


@pytest.mark.parametrize("twin", ["a", "a\0b"])
def test_a_vocabulary_with_an_entry_twice_is_rejected(tmp_path: Path, twin: str) -> None:
    def tokens(*texts: str) -> Path:
        listed: Typed = ([*texts], Kind.ARRAY, Kind.STRING)
        keys = {"tokenizer.ggml.tokens": listed, "llama.context_length": number(256)}
        return write_header(tmp_path / "some.gguf", keys, tensors=TENSOR)

    with pytest.raises(HeaderError, match="an entry twice"):
        read_model(tokens("a", "b", twin))
    read_model(tokens("a", "b", "", "", "c"))


def test_a_vocabulary_that_lacks_a_byte_is_rejected_where_llama_cpp_needs_them_all(tmp_path: Path) -> None:
    def tokens(*texts: str, kind: str = "llama") -> Path:
        keys: dict[str, Typed] = {
            "tokenizer.ggml.model": (kind, Kind.STRING, None),
            "tokenizer.ggml.tokens": ([*texts], Kind.ARRAY, Kind.STRING),
            "llama.context_length": number(256),
        }
        return write_header(tmp_path / "some.gguf", keys, tensors=TENSOR)

    spelled = [f"<0x{byte:02X}>" for byte in range(256)]
    read_model(tokens("ab", *spelled))
    read_model(tokens("ab", *(piece for piece in spelled if piece != "<0x41>"), "A"))
    read_model(tokens("ab", kind="gpt2"))
    with pytest.raises(HeaderError, match="lacks the byte <0x41>"):
        read_model(tokens("ab", "AB", *(piece for piece in spelled if piece != "<0x41>")))
    with pytest.raises(HeaderError, match="lacks the byte <0x00>"):
        read_model(tokens("ab"))
    escaped = [repr(bytes([byte]))[2:-1] for byte in range(256)]
    read_model(tokens("ab", *escaped, kind="rwkv"))
    with pytest.raises(HeaderError, match="lacks the byte <0x0A>"):
        read_model(tokens("ab", *(piece for piece in escaped if piece != "\\n"), kind="rwkv"))


@pytest.mark.parametrize("keys", [{}, {"context_length": number(0)}])
def test_a_model_without_a_context_is_rejected(tmp_path: Path, keys: dict[str, Typed]) -> None:
    with pytest.raises(HeaderError, match="does not say how long its context is"):
        read_model(written(tmp_path, block_count=number(1), **keys))


@pytest.mark.parametrize(
    ("architecture", "key"), [("jamba", "embedding_length"), ("jamba", "ssm.inner_size"), ("qwen35", "ssm.inner_size")]
)
def test_a_state_of_another_width_is_rejected(tmp_path: Path, architecture: str, key: str) -> None:
    path = write_memory_model(tmp_path / "some.gguf", architecture)
    LlamaModel(path).close()
    name = f"{architecture}.{key}".encode()
    data = bytearray(path.read_bytes())
    place = data.index(len(name).to_bytes(8, "little") + name) + 8 + len(name) + 4
    data[place : place + 4] = (48).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(HeaderError, match="its state layers are"):
        LlamaModel(path)


def test_a_file_for_the_other_byte_order_is_readable_but_not_loadable(tmp_path: Path) -> None:
    path = write_header(tmp_path / "big.gguf", {}, big_endian=True)
    assert read_file(path).byte_order == "big"
    with pytest.raises(HeaderError, match="use a file made for little-endian machines"):
        read_model(path)


def test_a_file_that_fails_never_reaches_native_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from specchat_engine.llama import model

    def refuse(*_: object) -> None:
        raise AssertionError("native code was called")

    path = written(tmp_path, block_count=number(0))
    monkeypatch.setattr(model.api, "llama_model_load_from_file", refuse)
    with pytest.raises(HeaderError):
        LlamaModel(path)


def split(folder: Path, count: int) -> list[Path]:
    """A tiny model in so many files, written as llama.cpp's own tool splits them."""
    whole = gguf.GGUFReader(write_tiny_model(folder / "whole.gguf"))
    paths = [folder / f"m-{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1)]
    shares = np.array_split(np.arange(len(whole.tensors)), count)
    for place, (path, share) in enumerate(zip(paths, shares, strict=True)):
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_uint16("split.no", place)
        writer.add_uint16("split.count", count)
        writer.add_int32("split.tensors.count", len(whole.tensors))
        for field in list(whole.fields.values()) if place == 0 else []:
            if not field.name.startswith(("GGUF.", "general.architecture")):
                items = field.types[1] if field.types[0] is Kind.ARRAY else None
                writer.add_key_value(field.name, field.contents(), field.types[0], items)
        for index in share:
            tensor = whole.tensors[int(index)]
            writer.add_tensor(tensor.name, tensor.data)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return paths


def test_a_model_in_several_files_is_read_and_loaded_as_one(tmp_path: Path) -> None:
    paths = split(tmp_path, 3)
    whole, header = read_file(tmp_path / "whole.gguf"), read_model(paths[0])
    assert (header.split_count, header.n_params) == (3, whole.n_params)
    assert header.bytes_per_type == whole.bytes_per_type
    with Engine.load(paths[0], options=LoadOptions(threads=1)) as engine:
        assert engine.target.n_params == whole.n_params
        assert list(engine.session(seed=1, settings=Settings(k=0, max_tokens=3)).generate("hello"))


def test_each_of_several_files_is_looked_at(tmp_path: Path) -> None:
    paths = split(tmp_path, 3)
    paths[2].write_bytes(paths[2].read_bytes()[:-40])
    with pytest.raises(HeaderError, match=r"m-00003-of-00003\.gguf is truncated"):
        read_model(paths[0])
    paths[2].unlink()
    with pytest.raises(ModelFileError, match=r"m-00003-of-00003\.gguf does not exist"):
        read_model(paths[0])
    with pytest.raises(HeaderError, match=r"is file 2 of 3: name the first, m-00001-of-00003\.gguf"):
        read_model(paths[1])
    renamed = paths[0].rename(tmp_path / "renamed.gguf")
    with pytest.raises(HeaderError, match="is one of 3 files: keep their names"):
        read_model(renamed)


def test_a_claim_of_thousands_of_files_is_not_believed(tmp_path: Path) -> None:
    count = reader._MAX_PARTS + 1
    path = write_header(
        tmp_path / f"m-00001-of-{count:05d}.gguf", {"split.count": (count, Kind.UINT16, None)}, tensors=TENSOR
    )
    with pytest.raises(HeaderError, match=f"is one of {count} files"):
        read_model(path)
