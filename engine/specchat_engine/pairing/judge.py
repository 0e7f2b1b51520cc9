"""A target and a draft model, judged by their headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.errors import PairError
from specchat_engine.gguf import Header
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.layers import SNAPSHOTS, has_state
from specchat_engine.memory.placement import Machine, Placement, Remedy, where_it_goes
from specchat_engine.pairing.sizes import compare_sizes, expect_speedup
from specchat_engine.pairing.tokens import compare_tokens, difference
from specchat_engine.pairing.verdict import Finding, Grade, Verdict

_ENCODERS: Final = frozenset(
    {"bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert", "modern-bert"}
    | {"gemma-embedding", "wavtokenizer-dec", "clip", "t5encoder", "dream", "llada", "llada-moe", "rnd1"}
)
"""Architectures that llama.cpp gives no memory: they do not generate token by token."""


def judge(
    target: Header,
    draft: Header | None,
    options: LoadOptions,
    machine: Machine | None = None,
    *,
    alpha: float | None = None,
    costs: MeasuredCosts | None = None,
) -> Verdict:
    """What speaks for and against a pair; without a draft, of the target alone.

    Without a machine memory is not judged. `alpha` is the pair's where it is known, `costs` what was measured here.
    """
    lines = list(_roles(target, draft))
    same_tokens, cost, speedup = True, None, None
    if draft is not None:
        found = list(compare_tokens(target, draft))
        same_tokens = difference(found) is None
        lines += [*found, _templates(target, draft, same_tokens=same_tokens)]
        size, cost = compare_sizes(target, draft)
        speed, speedup = expect_speedup(cost, alpha, costs)
        lines += [size, speed]
    lines += _going_back(target, draft)
    placement = where_it_goes(target, draft, options, machine) if machine and machine.devices else None
    if placement and machine:
        lines += _memory(placement, machine)
    return Verdict(tuple(lines), same_tokens, placement, cost, speedup)


def check_pair(target: Header, draft: Header) -> str:
    """Why the draft has to go through text, empty where token ids mean the same in both.

    Raises PairError where there is no way from the tokens of one to those of the other.
    """
    findings = [*compare_tokens(target, draft)]
    blocker = next((line for line in findings if line.grade is Grade.BLOCKER), None)
    if blocker:
        raise PairError(blocker.sentence)
    found = difference(findings)
    return found.sentence if found else ""


def _roles(target: Header, draft: Header | None) -> Iterator[Finding]:
    for role, header in (("target", target), ("draft", draft)):
        if header is None:
            continue
        if header.is_eagle:
            yield Finding(
                Grade.BLOCKER,
                "architecture",
                f"the {role} is a draft head ({header.architecture}), which cannot run alone",
                "use a whole model",
            )
        elif header.architecture in _ENCODERS:
            yield Finding(
                Grade.BLOCKER,
                "architecture",
                f"the {role} ({header.architecture}) does not generate text token by token",
                "use a chat model",
            )
    if target.has_mtp:
        yield Finding(Grade.OK, "trained head", "the target has layers that predict several tokens, unused as yet")


def _templates(target: Header, draft: Header, *, same_tokens: bool) -> Finding:
    if target.chat_template is None:
        return Finding(
            Grade.WARNING, "chat template", "the target has none: a plain one is used", "use an instruct model to chat"
        )
    if draft.chat_template is None:
        return Finding(
            Grade.WARNING,
            "chat template",
            "the draft has none, as it was not tuned for chats: it may guess worse",
            "prefer an instruct draft",
        )
    if target.chat_template == draft.chat_template:
        return Finding(Grade.OK, "chat template", "both have the same")
    used = "the target's is used for both" if same_tokens else "each reads the conversation by its own"
    return Finding(Grade.OK, "chat template", f"they differ; {used}")


def _going_back(target: Header, draft: Header | None) -> Iterator[Finding]:
    for role, header in (("target", target), ("draft", draft)):
        if header is None:
            continue
        if not has_state(header):
            window = f", its window of {header.window} tokens being kept whole" if header.window else ""
            yield Finding(Grade.OK, f"{role}'s memory", f"drops drafted tokens freely{window}")
        elif header.architecture in SNAPSHOTS and role == "target":
            yield Finding(Grade.OK, f"{role}'s memory", "a state that snapshots take back, up to 8 tokens at once")
        else:
            yield Finding(
                Grade.WARNING,
                f"{role}'s memory",
                "a state that goes back to a checkpoint, from where accepted tokens are read again",
                "use a small k, and compare with -k 0",
            )


def _memory(placement: Placement, machine: Machine) -> Iterator[Finding]:
    remedy = ", or ".join(_words(one) for one in placement.remedies)
    for device in machine.devices:
        needed = placement.on(device.name)
        if not needed:
            continue
        words = f"{_gigabytes(needed)} of {_gigabytes(device.free)} free on {device.name}"
        if device.name not in placement.over:
            yield Finding(Grade.OK, "memory", words)
        elif needed > device.total:
            yield Finding(Grade.BLOCKER, "memory", words, remedy or "use smaller models")
        else:
            yield Finding(Grade.WARNING, "memory", words, remedy or "close what else uses it")


def _words(remedy: Remedy) -> str:
    match remedy.option:
        case "n_ctx":
            return f"use -c {remedy.value}"
        case "cache_type":
            return f"keep keys and values in {remedy.value}"
        case "gpu_layers":
            return f"use -ngl {remedy.value}"
        case _:
            return f"use the target in {remedy.value}"


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**8 else f"{size / 1e6:.0f} MB"
