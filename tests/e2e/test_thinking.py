"""Thinking in the real program, with a model file that thinks: its level, its thought, and the rule for thoughts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from e2e.terminal import Terminal
from support.thinking_models import write_harmony_pair, write_thinking_pair

Specchat = Callable[..., Terminal]


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """The flags that load the pair that thinks between tags."""
    pair = write_thinking_pair(tmp_path_factory.mktemp("thinker"))
    return "-m", str(pair.target), "-d", str(pair.draft), "-k", "4", "--drafter", "model", "-c", "1024"


def test_thinking_is_turned_on_and_a_thought_folds_and_unfolds(specchat: Specchat, thinker: Sequence[str]) -> None:
    terminal = specchat("chat", *thinker, "--think", "off", width=120, height=30)
    terminal.wait_for("think off +ctx")
    terminal.type("hello")
    terminal.wait_for(r"Yes(.|\n)*τ", absent="thought for")
    terminal.type("/think on ")
    terminal.wait_for("think on +ctx")
    terminal.type("hello")
    screen = terminal.wait_for(r"▸ thought for \d+\.\d s · \d+ tokens · [\d,.]+ tok/s · α [01]\.\d\d(.|\n)*τ")
    assert "Yes" in screen
    assert "right and short" not in screen, "the thought is folded"
    assert "<think>" not in screen
    terminal.keys("Tab")
    terminal.wait_for("o Thoughts")
    terminal.keys("o")
    terminal.wait_for(r"▾ thought for(.|\n)*Let(.|\n)*short(.|\n)*Yes")
    terminal.keys("o")
    terminal.wait_for("▸ thought for", absent="what is asked")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help", absent="c Copy")
    terminal.type("/verify ")
    terminal.wait_for(r"all \d+ tokens are equal")


def test_a_lossy_rule_for_thoughts_is_named_in_the_header_and_under_the_answer(
    specchat: Specchat, thinker: Sequence[str]
) -> None:
    terminal = specchat("chat", *thinker, "--think", "on", "--thought-verifier", "typical", width=140, height=30)
    terminal.wait_for("≈ lossy typical in thoughts · model · k 4")
    terminal.type("hello")
    terminal.wait_for(r"▸ thought for(.|\n)*Yes(.|\n)*≈ typical in thoughts(.|\n)*\(lossy\)")
    terminal.type("/verify ")
    terminal.wait_for("the rule typical for thoughts is lossy")


def test_the_thought_of_a_harmony_model_folds_too(specchat: Specchat, tmp_path: Path) -> None:
    pair = write_harmony_pair(tmp_path)
    grammar = tmp_path / "yes.gbnf"
    grammar.write_text('root ::= "Indeed."')
    flags = ("-m", str(pair.target), "-d", str(pair.draft), "-k", "4", "-c", "1024", "--grammar-file", str(grammar))
    terminal = specchat("chat", *flags, "--think", "high", width=120, height=30)
    terminal.wait_for("think high +ctx")
    terminal.type("hello")
    screen = terminal.wait_for(r"▸ thought for(.|\n)*Indeed\.(.|\n)*τ")
    assert "<|channel|>" not in screen
