"""A context that main memory cannot hold is halved, or refused if it was asked for, before anything is allocated."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_assets import builtin_pair
from specchat_engine.errors import ModelFileError
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine, fit_context, where_it_goes

LONG = 2**24
MB = 2**20
BUILTIN = read_model(builtin_pair()[0])
TARGET = replace(BUILTIN, metadata={**BUILTIN.metadata, "llama.context_length": LONG})


def machine(free: int) -> Machine:
    return Machine((DeviceMemory("CPU", "cpu", free, free),))


def beside_weights(header: GgufHeader, n_ctx: int, free: int) -> int:
    parts = where_it_goes(header, None, LoadOptions(n_ctx=n_ctx), machine(free)).parts
    return sum(part.size for part in parts if part.what != "weights")


def test_a_context_that_fits_is_left_alone() -> None:
    assert fit_context(TARGET, None, LoadOptions(), machine(2**50)) == (LoadOptions(), "")
    assert fit_context(BUILTIN, None, LoadOptions(n_ctx=512), machine(400 * MB)) == (LoadOptions(n_ctx=512), "")
    assert fit_context(TARGET, None, LoadOptions(), machine(0)) == (LoadOptions(), ""), "nothing is known"


@given(free=st.integers(300 * MB, 2**40))
def test_the_models_own_context_is_halved_until_it_fits_and_no_further(free: int) -> None:
    options, because = fit_context(TARGET, None, LoadOptions(), machine(free))
    n_ctx = options.n_ctx or LONG
    assert beside_weights(TARGET, n_ctx, free) <= free
    if n_ctx < LONG:
        assert beside_weights(TARGET, 2 * n_ctx, free) > free - 200 * MB
        assert because.startswith(f"The context has {n_ctx:,} tokens: a context of {LONG:,} tokens takes ")


def test_a_context_that_was_asked_for_is_refused_with_one_that_fits() -> None:
    asked = LoadOptions(n_ctx=LONG)
    with pytest.raises(ModelFileError, match=r"16,777,216 tokens takes .* use -c ") as caught:
        fit_context(BUILTIN, None, asked, machine(2**31))
    fitting = int(str(caught.value).partition("use -c ")[2].split(",")[0])
    assert fit_context(BUILTIN, None, LoadOptions(n_ctx=fitting), machine(2**31))[1] == ""


def test_a_projector_takes_its_part_of_the_memory() -> None:
    free = 2**32
    alone, _ = fit_context(TARGET, None, LoadOptions(), machine(free))
    beside, because = fit_context(TARGET, None, LoadOptions(), machine(free), projector=free // 2)
    assert 0 < beside.n_ctx <= alone.n_ctx // 2
    assert because
    assert fit_context(TARGET, None, LoadOptions(), machine(0), projector=free) == (LoadOptions(), "")


def test_weights_that_need_all_memory_leave_an_eighth_to_caches_since_they_are_mapped() -> None:
    large = replace(TARGET, tensors=tuple(replace(one, size=1000 * (one.size or 0)) for one in TARGET.tensors))
    assert fit_context(large, None, LoadOptions(n_ctx=1024), machine(2**34))[1] == ""
    with pytest.raises(ModelFileError, match="use -c"):
        fit_context(large, None, LoadOptions(n_ctx=LONG), machine(2**34))
    with pytest.raises(ModelFileError, match="use a smaller model"):
        fit_context(TARGET, None, LoadOptions(), machine(20 * MB))
