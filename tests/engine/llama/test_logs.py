"""What llama.cpp says about its buffers is added up, and nothing is made up."""

from __future__ import annotations

import pytest

from specchat_engine import Engine, LoadOptions
from specchat_engine.llama.logs import read_buffers, read_weights
from specchat_engine.load_options import Buffers
from support.memory_models import weights_agree
from support.tiny_models import EngineFiles

MIB = 2**20


def test_caches_add_up_and_the_last_working_buffer_of_each_device_counts() -> None:
    lines = [
        "load_tensors:   CPU_Mapped model buffer size =    34.03 MiB",
        "llama_context:  CUDA_Host  output buffer size =     0.02 MiB",
        "llama_kv_cache:      CUDA0 KV buffer size =  1000.25 MiB",
        "llama_kv_cache:        CPU KV buffer size =     2.00 MiB",
        "llama_memory_recurrent:        CPU RS buffer size =     1.50 MiB",
        "sched_reserve:      CUDA0 compute buffer size =   300.00 MiB",
        "sched_reserve:      CUDA0 compute buffer size =   200.00 MiB",
        "sched_reserve:  CUDA_Host compute buffer size =     5.50 MiB",
        "~llama_context:        CPU compute buffer size is   5.2619 MiB, matches expectation of   5.2619 MiB",
    ]
    assert read_buffers(lines) == Buffers(cache=round(1003.75 * MIB), compute=round(205.5 * MIB))


def test_weights_that_are_in_memory_twice_count_twice() -> None:
    lines = [
        "load_tensors:          AMX model buffer size =    34.00 MiB",
        "load_tensors:   CPU_Mapped model buffer size =    30.25 MiB",
        "llama_kv_cache:        CPU KV buffer size =     2.00 MiB",
    ]
    assert read_weights(lines) == round(64.25 * MIB)


def test_sizes_that_are_not_logged_are_none() -> None:
    assert read_weights(["llama_kv_cache:        CPU KV buffer size =     2.00 MiB"]) is None
    assert read_buffers(["sched_reserve: reserve took 3.03 ms"]) == Buffers(None, None)


@pytest.mark.parametrize(("reported", "expected"), [(12345, 12345), (None, "the file's")])
def test_what_llama_cpp_says_of_weights_counts_before_what_the_file_has(
    reported: int | None, expected: int | str, files: EngineFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.llama.model.read_weights", lambda _: reported)
    with Engine.load(files.target, None, LoadOptions(threads=1, n_ctx=256)) as engine:
        size = expected if isinstance(expected, int) else engine.target.size_bytes
        assert engine.memory_use.target_weights == size


def test_a_loaded_pair_reports_the_memory_that_it_takes(files: EngineFiles) -> None:
    def load(n_ctx: int, *, draft: bool = True) -> Engine:
        return Engine.load(files.target, files.draft if draft else None, LoadOptions(threads=1, n_ctx=n_ctx))

    with load(512) as engine, load(1024) as longer, load(512, draft=False) as alone:
        use, twice, single = engine.memory_use, longer.memory_use, alone.memory_use
        assert engine.draft is not None
        assert weights_agree(use.target_weights, engine.target.size_bytes)
        assert weights_agree(use.draft_weights, engine.draft.size_bytes)
    assert use.target_cache is not None
    assert use.draft_cache is not None
    assert twice.target_cache == pytest.approx(2 * use.target_cache, abs=0.02 * MIB)
    assert use.compute is not None
    assert single.compute is not None
    assert use.compute > single.compute > 0
    assert (single.draft_weights, single.draft_cache, single.target_cache) == (0, 0, use.target_cache)
