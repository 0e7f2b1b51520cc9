"""What a server should draft with: from the catalog of known pairs and heads, or as the user says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from specchat.bench.exports import ExportTarget
from specchat.errors import ConfigError
from specchat_assets.catalog import CatalogHead, CatalogPair, Model, Report, catalog
from specchat_engine.settings import USUAL_K


class Method(StrEnum):
    """How a server drafts."""

    DRAFT = "a draft model"
    EAGLE3 = "EAGLE-3"
    MTP = "MTP"
    LOOKUP = "prompt lookup"
    NONE = "none"


_USUAL_K = {Method.DRAFT: USUAL_K, Method.EAGLE3: 3, Method.MTP: 2, Method.LOOKUP: USUAL_K, Method.NONE: 0}
_WORDS = {"none": Method.NONE, "lookup": Method.LOOKUP, "mtp": Method.MTP}
"""What stands for a draft that is not a model."""

_FILES = ("Q4_K_M", "MXFP4", "Q8_0")
_DRAFT_FILES = ("Q8_0", *_FILES)
"""The formats of GGUF files in the order in which they are preferred."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """A server to be started: models as it names them, the way it drafts, and at most `k` tokens a draft.

    `mixed` says that the vocabularies of target and draft differ in size. `why` says where the choice comes from.
    """

    tool: ExportTarget
    target: str
    method: Method
    draft: str = ""
    k: int = 0
    mixed: bool = False
    why: str = ""


def plan(tool: ExportTarget, model: str, draft: str | None = None, k: int | None = None) -> ServerPlan:
    """The plan for a model: one of the catalog, a repository of the hub, or a file.

    Without a draft, the catalog chooses. Raises ConfigError for a draft that this server cannot use with the model.
    """
    known = _known(model)
    target = _name(tool, known, _FILES) if known else model
    if draft is None:
        planned = _chosen(tool, known, target)
    elif (method := _WORDS.get(draft.lower())) is not None:
        planned = ServerPlan(tool, target, method, why="as you asked")
    else:
        planned = _with_draft(tool, known, target, draft)
    length = planned.k or _USUAL_K[planned.method] if k is None else k
    if planned.method is Method.NONE or length == 0:
        return ServerPlan(tool, target, Method.NONE, why=planned.why)
    return replace(planned, k=length)


def _chosen(tool: ExportTarget, known: Model | None, target: str) -> ServerPlan:
    """The head or draft model of which most is known; prompt lookup if there is none."""
    if known is None:
        return ServerPlan(tool, target, Method.LOOKUP, why="the catalog does not know this model")
    heads = [head for head in catalog().heads if head.target == known and head.kind == "eagle3"]
    if heads and tool is not ExportTarget.LLAMA_SERVER:  # it needs the head as GGUF, which nobody publishes
        return _with_head(tool, target, max(heads, key=_speedup))
    pairs = [pair for pair in catalog().drafts_for(known) if _fits(tool, pair)]
    if "mtp" in known.heads and not any(pair.reports for pair in pairs):
        return ServerPlan(tool, target, Method.MTP, why="its weights carry layers for multi-token prediction")
    if not pairs:
        return ServerPlan(tool, target, Method.LOOKUP, why=f"the catalog knows no draft for it that {tool} can use")
    pair = max(pairs, key=_speedup)
    best = _best_report(pair)
    why = "of its family, without a published measurement" if best is None else _in_words(best)
    return ServerPlan(tool, target, Method.DRAFT, _name(tool, pair.draft, _DRAFT_FILES), _k(best), _differ(pair), why)


def _with_draft(tool: ExportTarget, known: Model | None, target: str, draft: str) -> ServerPlan:
    head = next((known_head for known_head in catalog().heads if known_head.repository.lower() == draft.lower()), None)
    if head is not None:
        if known is not None and head.target != known:
            raise ConfigError(f"{draft} is a head for {head.target.name}: it reads no other model's hidden states")
        return replace(_with_head(tool, target, head), draft=draft)
    small = _known(draft)
    if small is None:
        return ServerPlan(tool, target, Method.DRAFT, draft, why="as you asked")
    mixed = known is not None and _differ(CatalogPair(known, small))
    if mixed and tool is ExportTarget.SGLANG:
        raise ConfigError(
            f"SGLang needs equal vocabularies, and those of {target} and {draft} differ: try --draft lookup"
        )
    return ServerPlan(tool, target, Method.DRAFT, _name(tool, small, _DRAFT_FILES), mixed=mixed, why="as you asked")


def _with_head(tool: ExportTarget, target: str, head: CatalogHead) -> ServerPlan:
    best = _best_report(head)
    why = "" if best is None else _in_words(best)
    return ServerPlan(tool, target, Method.EAGLE3, head.repository, _k(best), why=why)


def _known(name: str) -> Model | None:
    """The model of the catalog with this id, name or repository, ignoring case; None if there is none."""
    wanted = name.lower().partition(":")[0]
    for model in catalog().models.values():
        if wanted in {name.lower() for name in (model.id, model.name, model.repository, model.original) if name}:
            return model
    return None


def _name(tool: ExportTarget, model: Model, formats: tuple[str, ...]) -> str:
    """What this server calls the model: the repository of its weights, or that of its GGUF files with a format.

    Raises ConfigError if there are none.
    """
    if tool is not ExportTarget.LLAMA_SERVER:
        if model.original is None:
            raise ConfigError(f"where the weights of {model.name} are is not known: name their repository with -m")
        return model.original
    form = next((name for name in formats if name in model.quantisations), None)
    if model.repository is None or form is None:
        raise ConfigError(f"no GGUF file of {model.name} is known: name one with -m or -d")
    return f"{model.repository}:{form}"


def _fits(tool: ExportTarget, pair: CatalogPair) -> bool:
    if tool is ExportTarget.LLAMA_SERVER:
        return bool(pair.draft.quantisations)
    return pair.draft.original is not None and not (tool is ExportTarget.SGLANG and _differ(pair))


def _differ(pair: CatalogPair) -> bool:
    """Whether the vocabularies differ in size, as far as the catalog knows."""
    sizes = {model.header.get("vocab_size") for model in (pair.target, pair.draft)}
    return len(sizes) > 1 and None not in sizes


def _best_report(pair: CatalogPair | CatalogHead) -> Report | None:
    """The report with the largest speed-up; None without reports."""
    return max(pair.reports, key=lambda report: report.speedup or 0.0, default=None)


def _speedup(pair: CatalogPair | CatalogHead) -> float:
    """The largest reported speed-up; 0 without one."""
    best = _best_report(pair)
    return 0.0 if best is None else best.speedup or 0.0


def _k(report: Report | None) -> int:
    """The k of a report; 0 if it has none."""
    return 0 if report is None else report.k or 0


def _in_words(report: Report) -> str:
    """A report in words."""
    if report.speedup:
        figure = f"{report.speedup:g} × plain"
    elif report.block_efficiency:
        figure = f"{report.block_efficiency:g} tokens a pass"
    else:
        figure = f"{100 * (report.acceptance_rate or 0):.0f} % accepted"
    return f"reported {figure} ({report.setting}): {report.source}"
