"""Judges whether two models make a good pair: roles, tokens, sizes, expected speed-up and memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from specchat_engine.analysis.theory import predicted_speedup
from specchat_engine.architectures import architecture_of
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.errors import PairError
from specchat_engine.gguf import GgufHeader
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.layers import has_state
from specchat_engine.memory.placement import Machine, Placement, Remedy, where_it_goes
from specchat_engine.pairing.heads import misfit, own_head
from specchat_engine.pairing.tokens import Grade, PairFinding, compare_tokens, difference
from specchat_engine.settings import K_LIMIT

_DEAR: Final = 0.35
"""A draft that costs more than this share of the target rarely pays."""

_LONGEST = min(16, K_LIMIT)

GAIN: Final = 1.05
"""A smaller speed-up is not a gain: it is less than the estimate's error."""

_GOOD: Final = 0.9
"""The α of a good draft on text that is easy to guess, such as code."""

_NO_DRAFT: Final = "draft by lookup, which needs no model, or with a trained head"

MEASURED_HERE: Final = "with the costs measured here"


def read_bytes(header: GgufHeader) -> int:
    """Bytes of weights that are read for one token: only the experts in use, and single rows of the embeddings."""
    used = max(header.per_layer("expert_used_count"), default=0)
    share = used / header.experts if header.experts else 1.0
    tied = not any(tensor.name == "output.weight" for tensor in header.tensors)
    total = 0.0
    for tensor in header.tensors:
        size = tensor.size or 0
        if "_exps." in tensor.name:
            total += size * share
        elif tensor.name.startswith("per_layer_token_embd."):
            continue
        elif tied or not tensor.name.startswith("token_embd."):
            total += size
    return round(total)


def compare_sizes(target: GgufHeader, draft: GgufHeader, *, on_gpu: bool = False) -> tuple[PairFinding, float | None]:
    """A finding on the sizes, and the cost of a draft step in target steps if only reading weights takes time.

    On a fast GPU layers take time too, however small they are: what a step may cost then is said for `on_gpu`.
    """
    target_bytes, draft_bytes = read_bytes(target), read_bytes(draft)
    if not (target_bytes and draft_bytes):
        return PairFinding(Grade.WARNING, "size", "a file has no sizes: the cost of a draft step is unknown"), None
    cost = draft_bytes / target_bytes
    words = f"{_short(draft.n_params)} draft for {_short(target.n_params)}: a draft step reads {100 * cost:.1f} %"
    if on_gpu and target.layers and (depth := draft.layers / target.layers) > cost:
        words += f" and takes up to {100 * depth:.0f} % of the time on a fast GPU, for its {draft.layers} layers"
    line = PairFinding(Grade.OK, "size", words)
    if cost >= 1:
        line = PairFinding(Grade.WARNING, "size", f"{words}: drafting costs more than it saves", "use a smaller draft")
    elif cost > _DEAR:
        line = PairFinding(Grade.WARNING, "size", f"{words}, which rarely pays", "use a smaller draft or quantisation")
    return line, cost


def expect_speedup(
    cost: float | None,
    alpha: float | None,
    measured: MeasuredCosts | None,
    reported: float | None = None,
    basis: str = MEASURED_HERE,
) -> tuple[PairFinding, float | None]:
    """A finding on the expected speed-up, and the speed-up; measured costs take precedence over sizes.

    The speed-up is None if α is not known; the finding then says what it is at most. It is never more than `reported`.
    """
    relative = relative_costs(measured)
    if measured and measured.draft_step and relative:
        cost = measured.draft_step / dict(measured.verify)[1]
    if cost is None or (alpha is None and not relative):
        at_most = "" if reported is None else f", at most {reported:.2f}× where others measured it"
        words = f"unknown until it is measured{at_most}"
        return PairFinding(Grade.OK, "speed-up", words, "measure it: models pair --bench"), None
    best, k = best_speedup(1.0 if alpha is None else alpha, cost, relative)
    known_as = "if every token were accepted" if alpha is None else f"at α {alpha:.2f}"
    words = f"{best:.2f}× {known_as} and k {k}, {basis if relative else 'at most, if only reading weights takes time'}"
    if reported is not None and reported < best:
        best, words = reported, f"at most {reported:.2f}×, as others measured it; {words}"
    known = None if alpha is None else best
    if best < GAIN:
        return PairFinding(Grade.WARNING, "speed-up", words, f"{_NO_DRAFT}, or use a smaller draft"), known
    if alpha is None and (good := best_speedup(_GOOD, cost, relative)[0]) < GAIN:
        return PairFinding(Grade.WARNING, "speed-up", f"{words}; {good:.2f}× at α {_GOOD}", _NO_DRAFT), None
    if alpha is None:
        return PairFinding(Grade.OK, "speed-up", f"not measured; {words}", "measure it: models pair --bench"), None
    return PairFinding(Grade.OK, "speed-up", words), known


def best_speedup(
    alpha: float, cost: float, relative: Sequence[float] = (), most: float = math.inf
) -> tuple[float, int]:
    """The largest predicted speed-up, at most `most`, and its k.

    `relative` is C(k+1)/C(1) by k, by default 1 for every k.
    """
    longest = min(len(relative) - 1, _LONGEST) if relative else _LONGEST
    best, k = max(
        (predicted_speedup(alpha, k, cost, relative[k] if relative else 1.0), k) for k in range(1, longest + 1)
    )
    return min(best, most), k


def relative_costs(measured: MeasuredCosts | None) -> Sequence[float]:
    """C(k+1)/C(1) by k, interpolated between the measured widths; empty if not measured."""
    curve = measured.curve if measured else None
    if curve is None or curve.points[0][0] != 1:
        return []
    costs = curve.filled()
    return [ms / costs[0] for ms in costs]


def _short(number: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """All findings. `same_tokens` says that ids mean the same in both, so that drafts need no translation.

    `speedup` is the expected speed-up against plain decoding, `cost` a draft step in target steps; None if unknown.
    """

    lines: tuple[PairFinding, ...]
    same_tokens: bool
    placement: Placement | None
    cost: float | None
    speedup: float | None

    @property
    def grade(self) -> Grade:
        """The worst grade of all findings."""
        grades = {line.grade for line in self.lines}
        return next((grade for grade in (Grade.BLOCKER, Grade.WARNING) if grade in grades), Grade.OK)

    @property
    def pays(self) -> bool:
        """Whether the draft may gain anything here, as far as that is known."""
        return not any(line.topic == "speed-up" and line.grade is Grade.WARNING for line in self.lines)

    @property
    def fits(self) -> bool:
        """Whether nothing prevents running the pair."""
        return self.grade is not Grade.BLOCKER


def judge(
    target: GgufHeader,
    draft: GgufHeader | None,
    options: LoadOptions,
    machine: Machine | None = None,
    *,
    alpha: float | None = None,
    reported: float | None = None,
    costs: MeasuredCosts | None = None,
    basis: str = MEASURED_HERE,
) -> PairVerdict:
    """All findings on a pair, or on the target alone if there is no draft.

    Without a machine memory is not judged. `alpha` is the pair's, if known, and `reported` the largest speed-up that
    others measured with it. `costs` are those of the target's passes; `basis` says where they come from.
    """
    lines = list(_roles(target, draft))
    same_tokens, cost, speedup = True, None, None
    on_gpu = bool(machine and machine.gpus(options.devices_draft) and options.gpu_layers_draft)
    if draft is not None and draft.is_head:
        lines.append(_head(target, draft))
        size, cost = compare_sizes(target, draft, on_gpu=on_gpu)
        speed, speedup = expect_speedup(cost, alpha, costs, reported, basis)
        lines += [size, speed]
    elif draft is not None:
        token_findings = list(compare_tokens(target, draft))
        same_tokens = difference(token_findings) is None
        lines += [*token_findings, _templates(target, draft, same_tokens=same_tokens)]
        size, cost = compare_sizes(target, draft, on_gpu=on_gpu)
        speed, speedup = expect_speedup(cost, alpha, costs, reported, basis)
        lines += [size, speed]
    lines += _going_back(target, draft)
    placement = where_it_goes(target, draft, options, machine) if machine and machine.devices else None
    if placement and machine:
        lines += _memory(placement, machine)
    return PairVerdict(tuple(lines), same_tokens, placement, cost, speedup)


def check_pair(target: GgufHeader, draft: GgufHeader) -> str:
    """Why drafts have to be translated through text, empty if token ids mean the same in both models.

    Raises PairError if the tokens of one cannot be translated into those of the other.
    """
    findings = [*compare_tokens(target, draft)]
    blocker = next((line for line in findings if line.grade is Grade.BLOCKER), None)
    if blocker:
        raise PairError(blocker.sentence)
    finding = difference(findings)
    return finding.sentence if finding else ""


def _roles(target: GgufHeader, draft: GgufHeader | None) -> Iterator[PairFinding]:
    for role, header in (("target", target), ("draft", draft)):
        if header is None:
            continue
        if header.is_head and role == "target":
            yield PairFinding(
                Grade.BLOCKER,
                "architecture",
                f"the {role} is a head ({header.architecture}), which cannot run alone",
                "use a whole model",
            )
        elif not architecture_of(header.architecture).generates:
            yield PairFinding(
                Grade.BLOCKER,
                "architecture",
                f"the {role} ({header.architecture}) does not generate text token by token",
                "use a chat model",
            )
    if own_head(target):
        yield PairFinding(
            Grade.OK, "trained head", "the target drafts for itself, with layers for multi-token prediction"
        )
    elif target.has_mtp:
        words = f"llama.cpp cannot run the prediction layers of {target.architecture}"
        yield PairFinding(Grade.OK, "trained head", words)


def _head(target: GgufHeader, head: GgufHeader) -> PairFinding:
    if reason := misfit(target, head):
        return PairFinding(Grade.BLOCKER, "trained head", reason, "use a head that was made for this target")
    return PairFinding(Grade.OK, "trained head", f"{head.architecture}, drafts from the target's hidden states")


def _templates(target: GgufHeader, draft: GgufHeader, *, same_tokens: bool) -> PairFinding:
    if target.chat_template is None:
        return PairFinding(
            Grade.WARNING,
            "chat template",
            "the target has none: a base model continues texts",
            "use an instruct model to chat",
        )
    if draft.chat_template is None:
        return PairFinding(
            Grade.WARNING,
            "chat template",
            "the draft has none, as it was not tuned for chats: it may guess worse",
            "prefer an instruct draft",
        )
    if target.chat_template == draft.chat_template:
        return PairFinding(Grade.OK, "chat template", "both have the same")
    used = "the target's is used for both" if same_tokens else "each reads the conversation by its own"
    return PairFinding(Grade.OK, "chat template", f"they differ; {used}")


def _going_back(target: GgufHeader, draft: GgufHeader | None) -> Iterator[PairFinding]:
    for role, header in (("target", target), ("draft", draft)):
        if header is None:
            continue
        if not has_state(header):
            window = f", its window of {header.window} tokens is kept whole" if header.window else ""
            yield PairFinding(Grade.OK, f"{role}'s memory", f"drops drafted tokens at no cost{window}")
        elif architecture_of(header.architecture).snapshots and role == "target":
            yield PairFinding(Grade.OK, f"{role}'s memory", "a state that snapshots roll back, up to 8 tokens at once")
        else:
            yield PairFinding(
                Grade.WARNING,
                f"{role}'s memory",
                "a state that goes back to a checkpoint; accepted tokens after it are read again",
                "use a small k, and compare with -k 0",
            )


def _memory(placement: Placement, machine: Machine) -> Iterator[PairFinding]:
    remedy = ", or ".join(_words(suggestion) for suggestion in placement.remedies)
    for device in machine.devices:
        needed = placement.on(device.name)
        if not needed:
            continue
        words = f"{_gigabytes(needed)} of {_gigabytes(device.free)} free on {device.name}"
        if device.name not in placement.over:
            yield PairFinding(Grade.OK, "memory", words)
        elif needed > device.total:
            yield PairFinding(Grade.BLOCKER, "memory", words, remedy or "use smaller models")
        else:
            yield PairFinding(Grade.WARNING, "memory", words, remedy or "close what else uses it")


def _words(remedy: Remedy) -> str:
    match remedy.option:
        case "n_ctx":
            return f"use -c {remedy.value}"
        case "cache_type":
            return f"keep keys and values in {remedy.value}"
        case "n_cpu_moe":
            return f"use -ncmoe {remedy.value}"
        case "gpu_layers":
            return f"use -ngl {remedy.value}"
        case _:
            return f"use the target in {remedy.value}"


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**8 else f"{size / 1e6:.0f} MB"
