"""A pair judged by its headers: each line has a grade, a finding, and what to do where something is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, PairError
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.gguf import GgufHeader, TensorInfo, read_model
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.pairing import Grade, PairFinding, PairVerdict, check_pair, judge
from specchat_engine.pairing.judge import read_bytes
from support.headers import changed
from support.memory_models import write_memory_model
from support.tiny_models import EngineFiles

OPTIONS = LoadOptions(n_ctx=1024)
ROOMY = Machine((DeviceMemory("CPU", "cpu", 2**34, 2**34),))


@pytest.fixture(scope="module")
def pair() -> tuple[GgufHeader, GgufHeader]:
    target, draft = (read_model(path) for path in builtin_pair())
    return target, draft


def about(verdict: PairVerdict, topic: str) -> PairFinding:
    (line,) = [line for line in verdict.lines if line.topic == topic]
    return line


def test_the_built_in_pair_has_nothing_against_it(pair: tuple[GgufHeader, GgufHeader]) -> None:
    verdict = judge(*pair, OPTIONS, ROOMY, alpha=0.8)
    assert verdict.fits
    assert verdict.same_tokens
    assert verdict.grade is Grade.OK
    assert {line.topic for line in verdict.lines} >= {
        "tokenizer", "pre-tokenizer", "vocabulary", "special tokens", "chat template",
        "size", "speed-up", "memory", "target's memory", "draft's memory",
    }  # fmt: skip
    target_bytes, draft_bytes = (sum(header.bytes_per_type.values()) for header in pair)
    assert verdict.cost == pytest.approx(draft_bytes / target_bytes)
    assert verdict.speedup is not None
    assert verdict.speedup > 1.5


def test_another_vocabulary_is_a_warning_with_the_reason_that_loading_gives(files: EngineFiles) -> None:
    for draft in (files.stranger, files.bigger):
        verdict = judge(read_model(files.target), read_model(draft), OPTIONS)
        assert verdict.fits
        assert not verdict.same_tokens
        line = about(verdict, "vocabulary")
        assert line.grade is Grade.WARNING
        with Engine.load(files.target, draft, LoadOptions(threads=1)) as engine:
            assert engine.translated_because == line.sentence


def test_a_file_without_tokens_is_an_error_at_loading(pair: tuple[GgufHeader, GgufHeader]) -> None:
    silent = replace(pair[1], metadata={k: v for k, v in pair[1].metadata.items() if not k.endswith(".tokens")})
    verdict = judge(pair[0], silent, OPTIONS)
    assert not verdict.fits
    with pytest.raises(PairError) as caught:
        check_pair(pair[0], silent)
    assert str(caught.value) == about(verdict, "vocabulary").sentence


def test_through_text_each_model_reads_by_its_own_template(pair: tuple[GgufHeader, GgufHeader]) -> None:
    other = changed(pair[1], tokenizer__chat_template="{{ messages }}", tokenizer__ggml__model="llama")
    assert "each reads the conversation by its own" in about(judge(pair[0], other, OPTIONS), "chat template").finding
    same = changed(pair[1], tokenizer__chat_template="{{ messages }}")
    assert "the target's is used for both" in about(judge(pair[0], same, OPTIONS), "chat template").finding


def test_everything_but_a_fine_line_says_what_to_do(pair: tuple[GgufHeader, GgufHeader]) -> None:
    target, draft = pair
    small = Machine((DeviceMemory("CPU", "cpu", 1, 1),))
    verdicts = [
        judge(changed(target, tokenizer__chat_template=0), target, OPTIONS, small, alpha=0.1),
        judge(target, changed(draft, general__architecture="eagle3"), OPTIONS, small),
        judge(changed(target, general__architecture="mamba2"), changed(draft, tokenizer__chat_template=0), OPTIONS),
    ]
    for line in (line for verdict in verdicts for line in verdict.lines):
        assert line.finding
        assert line.grade is Grade.OK or line.remedy
    assert {line.grade for line in verdicts[0].lines} == {Grade.OK, Grade.WARNING, Grade.BLOCKER}


def test_a_target_alone_is_judged_too(pair: tuple[GgufHeader, GgufHeader]) -> None:
    verdict = judge(pair[0], None, OPTIONS, ROOMY)
    assert {line.topic for line in verdict.lines} == {"target's memory", "memory"}


def test_a_draft_as_large_as_the_target_is_a_warning(pair: tuple[GgufHeader, GgufHeader]) -> None:
    assert "costs more than it saves" in about(judge(pair[1], pair[0], OPTIONS), "size").finding
    assert about(judge(pair[0], pair[0], OPTIONS), "size").grade is Grade.WARNING


def test_of_a_mixture_only_the_experts_in_use_count(pair: tuple[GgufHeader, GgufHeader]) -> None:
    target = pair[0]
    experts = TensorInfo("blk.0.ffn_up_exps.weight", (10, 10, 8), 1, 0, 800, 1600)
    mixture = replace(
        changed(target, llama__expert_count=8, llama__expert_used_count=2), tensors=(*target.tensors, experts)
    )
    assert read_bytes(mixture) - read_bytes(target) == 400


def test_on_a_gpu_the_layers_of_a_draft_count_too(pair: tuple[GgufHeader, GgufHeader]) -> None:
    target, draft = pair
    gpu = Machine((*ROOMY.devices, DeviceMemory("CUDA0", "gpu", 2**34, 2**34)))
    share = f"{100 * draft.layers / target.layers:.0f} % of the time on a fast GPU, for its {draft.layers} layers"
    assert share in about(judge(target, draft, OPTIONS, gpu), "size").finding
    for options, machine in ((OPTIONS, ROOMY), (LoadOptions(n_ctx=1024, gpu_layers_draft=0), gpu)):
        assert "fast GPU" not in about(judge(target, draft, options, machine), "size").finding


def test_measured_costs_come_before_sizes(pair: tuple[GgufHeader, GgufHeader]) -> None:
    dear = MeasuredCosts(verify=((1, 10.0), (2, 19.0), (9, 80.0)), draft_step=5.0)
    cheap = MeasuredCosts(verify=((1, 10.0), (9, 11.0)), draft_step=0.1)
    slow, fast = (judge(*pair, OPTIONS, alpha=0.8, costs=costs) for costs in (dear, cheap))
    assert about(slow, "speed-up").grade is Grade.WARNING
    assert slow.speedup == pytest.approx((1 + 0.8) / (1.9 + 0.5))
    assert fast.speedup is not None
    assert fast.speedup > 3
    assert "with the costs measured here" in about(fast, "speed-up").finding


def test_a_draft_that_would_gain_only_if_nearly_every_token_were_accepted_does_not_pay(
    pair: tuple[GgufHeader, GgufHeader],
) -> None:
    verify = ((1, 10.0), (2, 18.0), (9, 20.0))
    dear, cheap = (judge(*pair, OPTIONS, costs=MeasuredCosts(verify, draft_step=step)) for step in (5.5, 0.5))
    assert (dear.pays, cheap.pays) == (False, True)
    assert "if every token were accepted" in about(dear, "speed-up").finding
    assert "by lookup" in (about(dear, "speed-up").remedy or "")


def test_no_more_is_expected_than_others_measured(pair: tuple[GgufHeader, GgufHeader]) -> None:
    free, capped = (judge(*pair, OPTIONS, alpha=0.8, reported=reported) for reported in (None, 1.3))
    assert free.speedup is not None
    assert free.speedup > 1.3
    assert capped.speedup == pytest.approx(1.3)
    assert "at most 1.30×, as others measured it" in about(capped, "speed-up").finding
    assert about(judge(*pair, OPTIONS, alpha=0.8, reported=0.98), "speed-up").grade is Grade.WARNING


def test_costs_of_another_machine_are_named_as_such(pair: tuple[GgufHeader, GgufHeader]) -> None:
    costs = MeasuredCosts(verify=((1, 1.0), (9, 1.1)))
    verdict = judge(*pair, OPTIONS, alpha=0.8, costs=costs, basis="with the costs of a slide rule")
    assert "with the costs of a slide rule" in about(verdict, "speed-up").finding


def test_a_table_of_embeddings_for_each_layer_is_not_read_as_a_whole(pair: tuple[GgufHeader, GgufHeader]) -> None:
    table = TensorInfo("per_layer_token_embd.weight", (256, 4096), 1, 0, 2**20, 2**21)
    assert read_bytes(replace(pair[0], tensors=(*pair[0].tensors, table))) == read_bytes(pair[0])


def test_without_alpha_no_speed_up_is_made_up(pair: tuple[GgufHeader, GgufHeader]) -> None:
    verdict = judge(*pair, OPTIONS)
    assert verdict.speedup is None
    assert "unknown until it is measured" in about(verdict, "speed-up").finding


@pytest.mark.parametrize(
    ("architecture", "target", "draft"),
    [
        ("mamba2", Grade.WARNING, Grade.WARNING),
        ("jamba", Grade.WARNING, Grade.WARNING),
        ("qwen35", Grade.OK, Grade.WARNING),
        ("lfm2", Grade.OK, Grade.WARNING),
        ("gemma3", Grade.OK, Grade.OK),
    ],
)
def test_the_architecture_decides_how_a_memory_goes_back(
    tmp_path: Path, architecture: str, target: Grade, draft: Grade
) -> None:
    header = read_model(write_memory_model(tmp_path / "some.gguf", architecture))
    verdict = judge(header, header, OPTIONS)
    assert (about(verdict, "target's memory").grade, about(verdict, "draft's memory").grade) == (target, draft)


def test_too_little_memory_is_reported_with_what_would_help(pair: tuple[GgufHeader, GgufHeader]) -> None:
    target = changed(pair[0], llama__context_length=65_536)
    needed = judge(target, pair[1], LoadOptions(), ROOMY).placement
    assert needed is not None
    size = needed.on("CPU")
    now = Machine((DeviceMemory("CPU", "cpu", size - 2**20, 2**40),))
    never = Machine((DeviceMemory("CPU", "cpu", size - 2**20, size - 2**20),))
    assert about(judge(target, pair[1], LoadOptions(), now), "memory").grade is Grade.WARNING
    line = about(judge(target, pair[1], LoadOptions(), never), "memory")
    assert line.grade is Grade.BLOCKER
    assert "use -c 32768" in line.remedy
    assert "keep keys and values in q8_0" in line.remedy
