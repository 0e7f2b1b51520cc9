"""Which heads fit which targets. Whatever llama.cpp would assert about a head and its target is checked here first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from specchat_engine.architectures import ARCHITECTURES, architecture_of
from specchat_engine.errors import PairError
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.load_options import Head
from specchat_engine.memory.layers import head_sizes, is_sliding
from specchat_engine.pairing.state_heads import LAYOUTS, state_head
from specchat_engine.settings import AUTO

_ASSISTANTS: Final = {known.assistant: name for name, known in ARCHITECTURES.items() if known.assistant}
"""Companion files that draft in their target's memory, and the targets that they are for."""

_I64 = 27
"""ggml's type of 64-bit integers."""


def what_drafts(target: GgufHeader, draft: str | Path | None, head: str) -> tuple[str | Path, Head | None]:
    """The draft model to load, empty for none, and the head, chosen by `LoadOptions.head`. `draft` may name a head.

    Raises ModelFileError, and PairError for a head that does not fit the target.
    """
    if draft and (str(draft) == "mtp" or (Path(draft).exists() and read_model(Path(draft)).is_head)):
        if head not in (AUTO, str(draft)):
            raise PairError(f"{draft} is a head, and {head} is another one: name one head and one draft model")
        draft, head = "", str(draft)
    draft = draft or ""
    if head == "none":
        return draft, None
    if head not in (AUTO, "mtp"):
        return draft, head_in(target, read_model(Path(head)), Path(head))
    own = own_head(target)
    if not own and head == "mtp":
        raise PairError(
            f"the target ({target.architecture}) has no layers for multi-token prediction that llama.cpp can run: "
            "use a draft model or lookup"
        )
    return draft, own


def several(draft: str | Path | None, further: Sequence[str], head: str) -> tuple[str | Path | None, list[str], str]:
    """The first draft model, the further ones and the head, of files that may be either in any order.

    Raises ModelFileError, and PairError for a second head.
    """
    named = [str(name) for name in (draft, *further) if name]
    if len(named) < 2:
        return draft, [], head
    heads = [name for name in named if name == "mtp" or (Path(name).exists() and read_model(Path(name)).is_head)]
    if len(heads) + (head not in (AUTO, "none")) > 1:
        raise PairError(f"{', '.join(heads)} are heads: a target can have one of them beside its draft models")
    models = [name for name in named if name not in heads]
    return (models[0] if models else None), models[1:], heads[0] if heads else head


def own_head(target: GgufHeader) -> Head | None:
    """The target's own layers for multi-token prediction, None if it has none that llama.cpp can run."""
    count, depth = target.of_model("nextn_predict_layers") or 0, _depth(target)
    needed = architecture_of(target.architecture).predicts
    if not count or not needed:
        return None
    if target.architecture == "glm4moe" and any(target.numbers("glm4moe.rope.dimension_sections")):
        return None  # llama.cpp's layers for multi-token prediction rotate as texts do, its others as pictures
    names = {tensor.name for tensor in target.tensors}
    layers = range(depth, target.layers)
    if any(f"blk.{layer}.{name}.weight" not in names for layer in layers for name in needed):
        return None
    if count > 1 and not architecture_of(target.architecture).several:
        return None
    return Head("mtp", (depth,), longest=count) if count > 1 else Head("mtp", (depth,))


def head_in(target: GgufHeader, head: GgufHeader, path: Path) -> Head:
    """The head of a file with this header. Raises PairError if it cannot be run, or was made for another target."""
    kind = head.architecture
    reason = misfit(target, head) or (_broken_tensors(target, head, path) if kind == "eagle3" else "")
    if reason:
        raise PairError(f"{path.name} is not a head for this target: {reason}; use one that was made for it, or lookup")
    if is_assistant(head):
        return Head("mtp", (_depth(target),), str(path))
    return Head("eagle3", _layers(head), str(path)) if kind == "eagle3" else state_head(head, path)


def trainable_head(target: GgufHeader) -> str:
    """The kind of head that guesses best of those that can be trained for a target: it needs three layers' states, or
    the last one alone."""
    return "eagle3" if architecture_of(target.architecture).hands_out else "mlp"


def is_assistant(head: GgufHeader) -> bool:
    """Whether a head is a companion file that drafts in its target's memory."""
    return head.architecture in _ASSISTANTS


def misfit(target: GgufHeader, head: GgufHeader) -> str:
    """Why a head in a file of its own cannot draft for this target, empty if it can, as far as the headers show."""
    if layout := LAYOUTS.get(head.architecture):
        return layout(head).misfit(target)
    if is_assistant(head):
        return _misfit_of_assistant(target, head)
    if head.architecture.startswith("dflash"):
        return "it is a DFlash head, which drafts whole blocks by diffusion; specchat drafts token by token"
    if head.architecture != "eagle3":
        kinds = f"eagle3, {', '.join(LAYOUTS)} and {', '.join(_ASSISTANTS)}"
        return f"its kind is {head.architecture or 'unknown'}, only {kinds} can be run"
    if not architecture_of(target.architecture).hands_out:
        return f"llama.cpp does not hand out the hidden states of {target.architecture}"
    width, tokens = head.of_model("target_hidden_size"), head.n_vocab
    if width != target.width:
        return f"it reads hidden states of {width} numbers, the target's have {target.width}"
    if tokens != target.n_vocab:
        return f"its vocabulary has {tokens} tokens, the target's has {target.n_vocab}"
    if head.layers != 1:
        return f"it has {head.layers} layers, EAGLE-3 has one"
    if head.of_model("attention.key_length") != head.of_model("attention.value_length"):
        return "its keys and values have different lengths"
    depth = _depth(target)
    deepest, layers = depth if architecture_of(target.architecture).hands_out == "all" else depth - 1, _layers(head)
    if len(layers) != 3 or not all(0 <= layer <= deepest for layer in layers):
        return f"it reads the layers {', '.join(map(str, layers)) or 'none'}; three of 0 to {deepest} can be read"
    return ""


def _misfit_of_assistant(target: GgufHeader, head: GgufHeader) -> str:
    """Why an assistant cannot read the target's memory: it takes the keys and values of the last two layers."""
    depth = target.layers
    if target.architecture != _ASSISTANTS[head.architecture]:
        return f"it is for {_ASSISTANTS[head.architecture]}, the target is {target.architecture}"
    if depth < 2 or not (is_sliding(target, depth - 2) and not is_sliding(target, depth - 1)):
        return "it needs a target whose last layer sees everything and whose last but one sees a window"
    if not 0 < head.layers == head.of_model("nextn_predict_layers"):
        return f"it has {head.layers} layers, not all of them for drafting"
    if head.of_model("embedding_length_out") != target.width:
        width = head.of_model("embedding_length_out")
        return f"it reads hidden states of {width} numbers, the target's have {target.width}"
    if head.n_vocab != target.n_vocab:
        return f"its vocabulary has {head.n_vocab} tokens, the target's has {target.n_vocab}"
    for layer in range(head.layers):
        shared = depth - 2 if is_sliding(head, layer) else depth - 1
        own, others = _kept(head, layer), _kept(target, shared)
        if own != others:
            return f"its layer {layer} reads {own} heads, keys and values, the target keeps {others}"
    return ""


def _kept(header: GgufHeader, layer: int) -> tuple[int, int, int]:
    """The heads of a layer's memory, and the numbers of a head's key and value."""
    heads = header.kv_heads
    return heads[layer] if layer < len(heads) else 0, *head_sizes(header, layer)


def _depth(target: GgufHeader) -> int:
    """The layers of the target itself."""
    return target.layers - (target.of_model("nextn_predict_layers") or 0)


def _layers(head: GgufHeader) -> tuple[int, ...]:
    return tuple(int(number) for number in head.numbers("eagle3.target_layers") if np.isfinite(number))


def _broken_tensors(target: GgufHeader, head: GgufHeader, path: Path) -> str:
    """Why llama.cpp cannot use the tensors that a head shares with its target, empty if it can."""
    tensors = {tensor.name: tensor for tensor in head.tensors}
    shares = "output.weight" not in tensors or "token_embd.weight" not in tensors
    if shares and head.width != target.width:
        return f"it takes embeddings from the target, whose width is {target.width}, and its own is {head.width}"
    embedding, mapping = tensors.get("token_embd.weight"), tensors.get("d2t")
    if embedding and embedding.shape != (head.width, target.n_vocab):
        return f"its embeddings have the shape {embedding.shape}, not {(head.width, target.n_vocab)}"
    if mapping is None:
        return ""
    if mapping.type != _I64 or len(mapping.shape) != 1 or not 0 < mapping.elements <= target.n_vocab:
        return f"its d2t is {mapping.type_name} of the shape {mapping.shape}, not I64 and one number for each token"
    ids = np.fromfile(path, "<i8", mapping.elements, offset=head.data_offset + mapping.offset)
    if len(ids) != mapping.elements or not (ids.min() >= 0 and ids.max() < target.n_vocab):
        return f"its d2t names tokens outside of 0 to {target.n_vocab - 1}"
    return ""
