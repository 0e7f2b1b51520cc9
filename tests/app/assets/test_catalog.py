"""The catalog follows its schema, says where everything comes from, and picks what fits a machine."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from typing import Any

import pytest

from specchat_assets.catalog import Report, catalog, parse
from specchat_assets.catalog.fits import Recommendation, fits
from specchat_engine.pairing.judge import best_speedup

GB = 10**9
FAMILIES = {
    "Qwen 2.5", "Qwen 3", "Qwen 3.5", "Llama 3", "Gemma 3", "Gemma 4", "Mistral", "gpt-oss", "DeepSeek distills",
    "SmolLM", "OPT", "Llama 2",
}  # fmt: skip


def data() -> dict[str, Any]:
    return tomllib.loads((resources.files("specchat_assets") / "catalog" / "catalog.toml").read_text("utf-8"))


def recommended(memory: int, bandwidth: float) -> list[Recommendation]:
    return fits(catalog(), memory, bandwidth, lambda alpha, cost: best_speedup(alpha, cost)[0])


def test_every_family_has_a_pair() -> None:
    assert {pair.target.family for pair in catalog().pairs} == FAMILIES


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
    assert used | {head.target.id for head in catalog().heads} == set(models)
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


def test_what_is_recommended_fits_and_can_be_fetched_and_run() -> None:
    for memory, bandwidth in ((8 * GB, 20e9), (24 * GB, 60e9), (80 * GB, 2e12)):
        found = recommended(memory, bandwidth)
        assert found
        for one in found:
            assert one.memory <= memory
            assert one.plain_tokens_per_second >= 3
            assert one.pair.target.runs
            assert one.pair.target.repository
            assert one.pair.draft.repository
        sizes = [one.pair.target.parameters for one in found]
        assert sizes == sorted(sizes, reverse=True)


def test_more_memory_and_bandwidth_allow_more() -> None:
    def ids(memory: int, bandwidth: float) -> set[str]:
        return {one.pair.target.id for one in recommended(memory, bandwidth)}

    laptop, workstation = ids(16 * GB, 50e9), ids(128 * GB, 1e12)
    assert "llama-3.1-8b" in laptop
    assert "llama-3.3-70b" not in laptop
    assert laptop < workstation
    assert "llama-3.3-70b" not in ids(128 * GB, 50e9)
    assert recommended(10**8, 1e12) == []


def test_a_speed_up_is_expected_only_where_alpha_is_known() -> None:
    found = {(one.pair.target.id, one.pair.draft.id): one for one in recommended(64 * GB, 400e9)}
    known = found["llama-3.1-8b", "llama-3.2-1b"]
    assert known.speedup is not None
    assert known.tokens_per_second == pytest.approx(known.plain_tokens_per_second * known.speedup)
    assert found["qwen3-8b", "qwen3-0.6b"].tokens_per_second is None
