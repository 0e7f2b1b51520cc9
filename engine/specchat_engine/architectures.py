"""What llama.cpp can do with models of each architecture. Check it again when the pinned version changes.

An architecture that is not listed has attention in all layers, and no head can draft for it but those that read the
target's last state alone. `tests/engine/llama/test_head_architectures.py` runs every head that is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

SNAPSHOTS: Final = 8
"""The most snapshots to ask for. Each is as large as the whole recurrent state, tens of megabytes in models of a few
billion parameters. A longer draft uses a checkpoint instead."""


def snapshots_for(max_rows: int, texts: int) -> int:
    """Returns the number of snapshots to ask for in a context of `texts` texts, with passes of up to `max_rows` rows.

    With three texts or more there are none. When llama.cpp reads two texts it may move the state of a third one between
    them, but not its snapshots. After a rollback that text would go on from another one's state.
    """
    return min(max_rows - 1, SNAPSHOTS) if texts < 3 else 0


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture.

    `generates` is False if it has no cache in llama.cpp, and so does not write token by token. `states` says which
    layers keep a state of fixed size: none, "every" one in place of attention or "beside" it, "some" by what the file
    says of the layer, or all but every n-th one, where the file may say the "interval" and four is usual. llama.cpp can
    roll states back by `snapshots`; others go back to a checkpoint. `state_width` is what llama.cpp asserts of it:
    "doubled" is twice the model's width, "by heads" the product of heads and their size. Its graphs may have
    `many_nodes`, and a feed-forward layer may hold an `extra_copy` of its input.

    `hands_out` says which hidden states an EAGLE-3 head can read: the "inputs" of all layers, or "all", the output of
    the last one included. `predicts` has the tensors that each of its layers for multi-token prediction must have,
    which llama.cpp asserts; there may be `several` such layers. `assistant` is the architecture of companion files that
    draft in its memory.
    """

    generates: bool = True
    states: Literal["", "every", "beside", "some", "interval"] = ""
    snapshots: bool = False
    state_width: Literal["", "doubled", "by heads"] = ""
    many_nodes: bool = False
    extra_copy: bool = False
    hands_out: Literal["", "inputs", "all"] = ""
    predicts: tuple[str, ...] = ()
    several: bool = False
    assistant: str = ""


_NEXTN = ("nextn.eh_proj", "nextn.enorm", "nextn.hnorm")
_EXPERTS = (*_NEXTN, "ffn_gate_inp")
_FEED_FORWARD = ("ffn_gate", "ffn_up", "ffn_down")
_ENCODER, _STATES = Architecture(generates=False), Architecture(states="every")

# The DeepSeek family and glm-dsa predict several tokens too, but llama.cpp asserts more about their layers.
ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "arwkv7": _STATES,
    "bailingmoe3": Architecture(
        states="some", snapshots=True, many_nodes=True, hands_out="inputs", predicts=(*_NEXTN, "layer_output_norm")
    ),
    "bert": _ENCODER,
    "clip": _ENCODER,
    "cohere2moe": Architecture(predicts=_EXPERTS),
    "deepseek4": Architecture(states="some", snapshots=True, many_nodes=True),
    "dream": _ENCODER,
    "eurobert": _ENCODER,
    "falcon-h1": Architecture(states="beside"),
    "gemma-embedding": _ENCODER,
    "gemma4": Architecture(hands_out="all", assistant="gemma4-assistant"),
    "glm4moe": Architecture(predicts=_EXPERTS),
    "glm5-next": Architecture(states="some", snapshots=True),
    "gpt-oss": Architecture(hands_out="all"),
    "granitehybrid": Architecture(states="some", state_width="doubled"),
    "hunyuan_vl": Architecture(hands_out="inputs"),
    "hy_v3": Architecture(predicts=_NEXTN, several=True),
    "jamba": Architecture(states="some", state_width="doubled"),
    "jina-bert-v2": _ENCODER,
    "jina-bert-v3": _ENCODER,
    "kimi-k3": Architecture(states="some", snapshots=True),
    "kimi-linear": Architecture(states="some", many_nodes=True),
    "lfm2": Architecture(states="some", snapshots=True, extra_copy=True, hands_out="inputs"),
    "lfm2moe": Architecture(states="some", snapshots=True, extra_copy=True),
    "llada": _ENCODER,
    "llada-moe": _ENCODER,
    "llama": Architecture(hands_out="inputs"),
    "mamba": _STATES,
    "mamba2": _STATES,
    "mimo2": Architecture(hands_out="all", predicts=(*_NEXTN, "attn_qkv", *_FEED_FORWARD), several=True),
    "minimax-01": Architecture(states="some", many_nodes=True),
    "minimax-m2": Architecture(hands_out="inputs"),
    "modern-bert": _ENCODER,
    "muse-glimmer": Architecture(hands_out="inputs"),
    "nanbeige": Architecture(hands_out="inputs"),
    "nemotron_h": Architecture(states="some", snapshots=True, hands_out="all"),
    "nemotron_h_moe": Architecture(
        states="some", snapshots=True, hands_out="all", predicts=(*_EXPERTS, "nextn.shared_head_norm")
    ),
    "neo-bert": _ENCODER,
    "nomic-bert": _ENCODER,
    "nomic-bert-moe": _ENCODER,
    "plamo2": Architecture(states="some"),
    "qwen3": Architecture(hands_out="inputs"),
    "qwen35": Architecture(
        states="interval", snapshots=True, state_width="by heads", many_nodes=True, hands_out="all", predicts=_NEXTN
    ),
    "qwen35moe": Architecture(
        states="interval", snapshots=True, state_width="by heads", many_nodes=True, hands_out="all", predicts=_EXPERTS
    ),
    "qwen3moe": Architecture(hands_out="inputs"),
    "qwen3next": Architecture(
        states="interval", state_width="by heads", many_nodes=True, hands_out="inputs", predicts=_EXPERTS
    ),
    "qwen4exp": Architecture(states="interval", snapshots=True, many_nodes=True),
    "rnd1": _ENCODER,
    "rwkv6": _STATES,
    "rwkv6qwen2": _STATES,
    "rwkv7": _STATES,
    "step35": Architecture(predicts=_NEXTN, several=True),
    "t5encoder": _ENCODER,
    "wavtokenizer-dec": _ENCODER,
}

_PLAIN = Architecture()


def architecture_of(name: str) -> Architecture:
    """Returns what an architecture can do, by llama.cpp's name for it."""
    return ARCHITECTURES.get(name, _PLAIN)
