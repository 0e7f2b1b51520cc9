from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specchat.bench.document import SCHEMA, read_benchmark
from specchat.bench.plan import PLAIN
from specchat.errors import ConfigError
from support.bench_samples import LOOKUP, MODEL, benchmark

RUN = benchmark({PLAIN: (100.0, 110.0), MODEL: (150.0, 160.0), LOOKUP: (90.0, 95.0)})


def write(file: Path, document: Any) -> Path:
    file.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return file


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    again = read_benchmark(write(tmp_path / "run.json", RUN.to_json()))
    assert again == RUN
    assert again.to_json() == RUN.to_json()
    assert again.pair == "guide 18M ⇠ draft 2M", "as everywhere"


def test_the_document_has_every_sample_and_says_where_and_how_it_was_measured() -> None:
    document = json.loads(json.dumps(RUN.to_json(), allow_nan=False))
    assert (document["type"], document["schema"], document["complete"]) == ("bench", SCHEMA, True)
    assert document["machine"] == {"threads": 2}
    assert document["versions"] == {"llama.cpp": "b1"}
    assert document["arms"] == ["none", "model:4", "lookup:8"]
    assert len(document["samples"]) == 12
    assert document["samples"][2]["arm"] == "model:4"
    assert len(document["rows"]) == 6
    assert document["rows"][1]["end_to_end_ratio"]["pairs"] == 2
    assert document["choice"]["best"]["arm"] == "model:4"
    assert {(mean["temperature"], mean["arm"]) for mean in document["overall"]} >= {(0.0, "model:4"), (None, "model:4")}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("no json", "is not JSON: name a file that `specchat bench --json` wrote"),
        ([1], "is not a benchmark"),
        ({"type": "end", "schema": SCHEMA}, "is not a benchmark"),
        (
            {"type": "bench", "schema": SCHEMA + 1},
            f"has schema {SCHEMA + 1}, this specchat reads {SCHEMA}: measure it again",
        ),
        ({"type": "bench"}, "has schema None"),
        ({"type": "bench", "schema": SCHEMA}, "is damaged, it has no "),
        (RUN.to_json() | {"arms": ["nonsense"]}, "is damaged, the arm 'nonsense'"),
        (RUN.to_json() | {"prompts": None}, "is damaged, None is not an object"),
        (RUN.to_json() | {"samples": [{}]}, "is damaged, it has no arm"),
    ],
)
def test_what_is_no_benchmark_of_this_schema_is_refused_in_one_line(tmp_path: Path, document: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=r"other\.json ") as refused:
        read_benchmark(write(tmp_path / "other.json", document))
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.json cannot be read: No such file"):
        read_benchmark(tmp_path / "gone.json")
