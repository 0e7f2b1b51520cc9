from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from specchat.bench.chart import chart
from specchat.bench.document import Benchmark
from specchat.bench.plan import PLAIN, Arm
from specchat.terminal.palette import BLUE, ORANGE
from support.bench_samples import LOOKUP, MODEL, benchmark, sample

SVG = "{http://www.w3.org/2000/svg}"
AUTO = Arm("hybrid", "auto")
KINDS = ("facts", "copy", "all kinds")
RUN = benchmark({PLAIN: (100.0, 101.0), MODEL: (150.0, 150.0), LOOKUP: (50.0, 55.0), AUTO: (200.0, 210.0)})


def read(run: Benchmark) -> ElementTree.Element:
    return ElementTree.fromstring(chart(run))


def bars(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [*root.iter(f"{SVG}rect")]


def texts(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def test_every_arm_has_a_bar_for_every_kind_and_one_for_all_of_them_if_there_are_several() -> None:
    root = read(RUN)
    assert len(bars(root)) == 3 * 3
    assert [text for text in texts(root) if text in KINDS] == [*KINDS]
    root = read(benchmark({PLAIN: (100.0,), MODEL: (150.0,)}, kinds=("facts",)))
    assert "all kinds" not in texts(root)
    assert len(bars(root)) == 1


def test_a_bar_is_as_long_as_its_ratio_and_ends_where_its_number_says() -> None:
    root = read(RUN)
    lines = [line for line in root.iter(f"{SVG}line") if line.get("class") == "plain"]
    for bar in bars(root):
        tooltip = re.search(r": ([\d.]+) × plain", bar.findtext(f"{SVG}title") or "")
        assert tooltip
        unit = float(lines[0].get("x1", 0)) - float(bar.get("x", 0))
        assert float(bar.get("width", 0)) == pytest.approx(float(tooltip[1]) * unit, abs=0.01 * unit)


def test_drafters_have_the_colours_of_the_palette() -> None:
    fills = {(bar.findtext(f"{SVG}title") or "").split(":")[0]: bar.get("fill") for bar in bars(read(RUN))}
    assert fills == {"model 4": BLUE, "lookup 8": ORANGE, "hybrid auto": "url(#both)"}


def test_each_temperature_has_its_panel() -> None:
    warm = [sample(arm, 70.0, temperature=0.8) for arm in (PLAIN, MODEL)]
    root = read(replace(RUN, samples=[*RUN.samples, *warm]))
    assert [text for text in texts(root) if text.startswith("temperature")] == ["temperature 0", "temperature 0.8"]
    assert len({bar.get("x") for bar in bars(root)}) == 2


def test_everything_lies_inside_the_picture() -> None:
    root = read(RUN)
    _, _, width, height = (float(part) for part in root.get("viewBox", "").split())
    for bar in bars(root):
        assert float(bar.get("x", 0)) + float(bar.get("width", 0)) < width
        assert float(bar.get("y", 0)) < height
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.get("y", 0)) < height


def test_it_needs_nothing_from_elsewhere_and_knows_light_and_dark_pages() -> None:
    text = chart(RUN)
    assert "prefers-color-scheme: light" in text
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in text


def test_names_cannot_break_out_of_the_picture() -> None:
    named = {"name": '<script>"&\x1b', "n_params": 1, "path": "x"}
    root = read(replace(RUN, conditions=replace(RUN.conditions, target=named)))
    assert '<script>"&' in (root.get("aria-label") or "")
    assert list(root.iter(f"{SVG}script")) == []


def test_a_run_with_nothing_to_compare_is_still_a_picture() -> None:
    assert bars(read(benchmark({PLAIN: (1.0,)}))) == []
