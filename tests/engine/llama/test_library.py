"""A llama.cpp other than the pinned one is noticed before it does harm."""

from __future__ import annotations

import re
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from specchat_engine import EngineError
from specchat_engine.llama.library import (
    CONTEXT_DEFAULTS,
    MODEL_DEFAULTS,
    PINNED,
    api,
    check_defaults,
    llama_version,
    system_info,
)


def test_the_installed_binding_is_the_pinned_one() -> None:
    assert version("llama-cpp-python") == PINNED
    check_defaults(api.llama_context_default_params(), CONTEXT_DEFAULTS)
    check_defaults(api.llama_model_default_params(), MODEL_DEFAULTS)


@pytest.mark.parametrize(
    ("which", "name", "value"),
    [(0, "n_batch", 512), (0, "n_outputs_max", 7), (1, "split_mode", 3), (1, "main_gpu", -1)],
)
def test_a_default_that_moved_is_named_with_the_remedy(which: int, name: str, value: int) -> None:
    params, defaults = (
        (api.llama_context_default_params(), CONTEXT_DEFAULTS),
        (api.llama_model_default_params(), MODEL_DEFAULTS),
    )[which]
    setattr(params, name, value)
    with pytest.raises(EngineError) as caught:
        check_defaults(params, defaults)
    message = str(caught.value)
    assert f"the default of {name} is {value}" in message
    assert message.endswith(f"install llama-cpp-python=={PINNED}")


def test_a_field_that_is_gone_is_named() -> None:
    with pytest.raises(EngineError, match="the default of n_ctx is None"):
        check_defaults(SimpleNamespace(), CONTEXT_DEFAULTS)


def test_the_build_describes_itself() -> None:
    assert re.match(r"[\w.-]+", llama_version())
    assert "=" in system_info()
