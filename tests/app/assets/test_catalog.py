"""The catalog follows its schema and says where everything comes from."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from typing import Any

import pytest

from specchat.models.recommended import outline
from specchat_assets.catalog import Report, catalog, parse
from specchat_engine.pairing.judge import read_bytes

ALONE = {"smollm3-3b", "phi-4", "phi-4-mini", "mistral-7b-0.3", "mistral-nemo-12b"}
"""Targets without a known draft of the same vocabulary."""


def data() -> dict[str, Any]:
    return tomllib.loads((resources.files("specchat_assets") / "catalog" / "catalog.toml").read_text("utf-8"))


def test_a_pair_is_of_one_family_and_its_draft_is_smaller() -> None:
    for pair in catalog().pairs:
        assert pair.draft.family == pair.target.family
        assert pair.draft.parameters < pair.target.parameters
    named = [(pair.target.id, pair.draft.id) for pair in catalog().pairs]
    assert len(set(named)) == len(named)


def test_every_model_is_used_once_and_has_a_sound_entry() -> None:
    models = catalog().models
    assert len(models) == len(data()["models"])
    used = {one.id for pair in catalog().pairs for one in (pair.target, pair.draft)}
    assert used | {head.target.id for head in catalog().heads} | ALONE == set(models)
    for model in models.values():
        assert 0 < model.active <= model.parameters < 1000
        assert model.repository or model.original
        assert bool(model.quantisations) == bool(model.repository)
        assert set(model.quantisations) <= set(catalog().bits)
        assert set(model.heads) <= {"mtp", "eagle3"}
        for repository in (model.repository, model.original):
            assert repository is None or re.fullmatch(r"[\w.-]+/[\w.-]+", repository)


def test_every_report_names_its_source_and_holds_possible_figures() -> None:
    reports = [report for entry in (*catalog().pairs, *catalog().heads) for report in entry.reports]
    assert reports
    for report in reports:
        assert report.source.startswith("https://")
        assert report.setting
        for share in (report.alpha, report.acceptance_rate, report.likely_alpha()):
            assert share is None or 0 < share < 1
        assert report.block_efficiency is None or (report.k and 1 <= report.block_efficiency <= report.k + 1)
        assert report.speedup is None or 0.2 < report.speedup < 10


def test_heads_belong_to_targets_that_are_marked_for_them() -> None:
    for head in catalog().heads:
        assert head.kind in head.target.heads


@pytest.mark.parametrize("section", ["models", "pairs", "heads"])
def test_an_unknown_or_missing_key_is_an_error(section: str) -> None:
    broken = data()
    if section == "models":
        broken["models"][0]["colour"] = "blue"
    else:
        broken[section][0]["target"] = "no-such-model"
    with pytest.raises((KeyError, TypeError)):
        parse(broken)


def test_alpha_is_what_leads_to_the_reported_rate() -> None:
    alpha = Report("", "", k=5, acceptance_rate=0.6).likely_alpha()
    assert alpha is not None
    assert sum(alpha**place for place in range(1, 6)) / 5 == pytest.approx(0.6)
    tau = Report("", "", k=3, block_efficiency=1 + 0.5 + 0.25 + 0.125).likely_alpha()
    assert tau == pytest.approx(0.5)
    assert Report("", "", alpha=0.7, k=3, block_efficiency=2.0).likely_alpha() == 0.7
    assert Report("", "", acceptance_rate=0.7).likely_alpha() is None


def test_a_repository_is_known_again_whatever_its_case() -> None:
    model = catalog().of("qwen/qwen3-8b-gguf")
    assert model is not None
    assert model.id == "qwen3-8b"
    assert catalog().of("nobody/nothing") is None
    assert [pair.draft.id for pair in catalog().drafts_for(model)] == ["qwen3-0.6b"]


def test_a_header_leads_to_the_published_sizes() -> None:
    for model in catalog().models.values():
        if not model.header:
            continue
        header = outline(model, "F16", catalog().bits["F16"])
        assert header.n_params == pytest.approx(model.parameters * 1e9, rel=1e-6)
        assert all(tensor.elements > 0 for tensor in header.tensors), model.id
        assert header.n_ctx_train
        assert header.layers
        assert header.heads
        assert read_bytes(header) / 2e9 == pytest.approx(model.active, rel=0.2), model.id


def test_parameters_that_a_token_does_not_use_do_not_count_as_read() -> None:
    small = catalog().models["gemma-4-e2b"]
    assert small.parameters == pytest.approx(4.6)
    assert small.active == pytest.approx(2.3)
    assert read_bytes(outline(small, "F16", 16.0)) / 2e9 == pytest.approx(2.3, rel=0.05)


def test_no_draft_costs_more_than_a_third_of_its_target() -> None:
    for pair in catalog().pairs:
        if pair.target.header and pair.draft.header:
            target, draft = (read_bytes(outline(model, "F16", 16.0)) for model in (pair.target, pair.draft))
            assert draft < 0.35 * target, (pair.target.id, pair.draft.id)
    assert not catalog().drafts_for(catalog().models["gpt-oss-120b"])


def test_a_source_without_a_gain_is_not_quoted_for_one() -> None:
    by_draft = {pair.draft.id: pair for pair in catalog().drafts_for(catalog().models["qwen2.5-coder-32b"])}
    assert by_draft["qwen2.5-coder-3b"].reported == pytest.approx(0.98)
    assert by_draft["qwen2.5-coder-0.5b"].reported is None
    (small,) = catalog().drafts_for(catalog().models["llama-3.1-8b"])
    assert small.reported == pytest.approx(1.71)
    assert any("one completion" in report.setting for report in small.reports)


def test_the_pass_curves_rise_and_float_formats_are_the_flattest() -> None:
    costs = catalog().costs
    assert costs.widths[0] == 1
    assert set(costs.curves) == {"F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M"}
    for curve in costs.curves.values():
        assert len(curve) == len(costs.widths)
        assert curve[0] == 1
        assert [*curve] == sorted(curve)
    five = costs.widths.index(5)
    floats = [costs.curves[name][five] for name in ("F16", "BF16")]
    assert max(floats) < min(curve[five] for name, curve in costs.curves.items() if name.startswith("Q"))
