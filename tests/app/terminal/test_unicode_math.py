"""Formulas as Unicode, and what stays as it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.terminal.unicode_math import unicode_math


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (r"\alpha^2", "α²"),
        (r"x_i + y_{i+1}", "xᵢ + yᵢ₊₁"),
        (r"\frac{a+b}{c}", "(a+b)/c"),
        (r"\frac12", "1/2"),
        (r"\frac{1}{n}\sum_{i=1}^n x_i", "1/n ∑ᵢ₌₁ⁿ xᵢ"),
        (r"\min(1, \tfrac{p}{q})", "min(1, p/q)"),
        (r"\tau = \frac{1-\alpha^{k+1}}{1-\alpha}", "τ = (1-αᵏ⁺¹)/(1-α)"),
        (r"\sqrt{x^2+1}", "√(x²+1)"),
        (r"\sqrt[3]{x}", "³√x"),
        (r"\mathbb{R}^n \to \mathbb{C}", "ℝⁿ → ℂ"),
        (r"\int_0^\infty e^{-x}\,dx", "∫₀^∞e⁻ˣ dx"),
        (r"10^{-3} \approx \text{one per mille}", "10⁻³ ≈ one per mille"),
        (r"\left.f\right|_{0}", "f|₀"),
        (r"\left\{ x \in A \mid x \ne 0 \right\}", "{ x ∈ A | x ≠ 0 }"),
        (r"\log p + \operatorname{argmax}_x f'(x)", "log p + argmaxₓ f′(x)"),
        (r"x^{2^n}", "x^(2ⁿ)"),
        (r"90^\circ", "90°"),
        (r"\begin{pmatrix}1 & 2\\3 & 4\end{pmatrix}", "(1 2; 3 4)"),
        (r"\begin{aligned}a &= b\\ c &= d\end{aligned}", "a = b\nc = d"),
    ],
)
def test_a_formula_reads_as_mathematicians_would_type_it(formula: str, shown: str) -> None:
    assert unicode_math(formula) == shown


@pytest.mark.parametrize(
    "formula",
    [r"\unknown{x}", "{x", "x^", r"\binom{n}{k}", r"\overline{AB}", r"\underbrace{x}_{y}", "{" * 100, "x" * 3000, ""],
)
def test_what_has_no_good_form_stays_as_it_is(formula: str) -> None:
    assert unicode_math(formula) is None


@pytest.mark.parametrize("formula", [r"\sqrt\sqrt2", r"\sqrt\frac12", r"\hat\sqrt2", r"x^\verb"])
def test_a_command_without_its_arguments_stays_as_it_is(formula: str) -> None:
    assert unicode_math(formula) is None


@given(st.text(alphabet=r"\{}^_$&%abfrcsqtx12 ()[]~" + "\n", max_size=60))
def test_no_formula_stops_the_answer(formula: str) -> None:
    shown = unicode_math(formula)
    assert shown is None or "\\frac" not in shown
