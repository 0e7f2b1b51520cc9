"""A llama.cpp other than the pinned one is noticed before it does harm."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from specchat_engine import EngineError
from specchat_engine.llama.library import (
    CONTEXT_DEFAULTS,
    LIBRARIES,
    MODEL_DEFAULTS,
    PINNED,
    api,
    check_defaults,
    check_structs,
    cpu_variant,
    llama_version,
    loaded_libraries,
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


class Moved:
    """The binding, with a field too many in one struct."""

    def __init__(self, name: str, before: str) -> None:
        fields = list(getattr(api, name)._fields_)
        fields.insert([field[0] for field in fields].index(before), ("more", ctypes.c_size_t))
        self.struct = type(name, (ctypes.Structure,), {"_fields_": fields})
        if name == "llama_token_data_array":
            self.llama_token_data_array = self.struct
            self.llama_sampler_apply = lambda sampler, array: api.llama_sampler_apply(
                sampler, ctypes.cast(array, ctypes.POINTER(api.llama_token_data_array))
            )
        else:
            self.llama_batch_init = lambda *sizes: self.struct.from_buffer_copy(
                bytes(api.llama_batch_init(*sizes)) + bytes(8)
            )
            self.llama_batch_free = lambda _batch: None

    def __getattr__(self, name: str) -> object:
        return getattr(api, name)


def test_every_struct_that_is_read_lies_as_the_binding_says() -> None:
    check_structs(api)


@pytest.mark.parametrize(("name", "before"), [("llama_batch", "token"), ("llama_token_data_array", "selected")])
def test_a_struct_with_a_field_that_moved_is_noticed(name: str, before: str) -> None:
    with pytest.raises(EngineError, match=r"does not fit its llama\.cpp"):
        check_structs(Moved(name, before))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists a process's libraries")
def test_the_libraries_in_use_show_whether_the_build_is_portable() -> None:
    names = {path.name.split(".")[0] for path in loaded_libraries()}
    assert {"libllama", "libggml", "libggml-base"} <= names
    cpus = {name.removeprefix("libggml-cpu-") for name in names if name.startswith("libggml-cpu-")}
    variants = cpus - {"exact"}
    assert cpu_variant() == (variants.pop() if variants else "")


def test_libraries_in_another_folder_are_named_by_that_folder(tmp_path: Path) -> None:
    """So `doctor` names it, and a portable build loads its code from there."""
    other = tmp_path / "other"
    shutil.copytree(LIBRARIES, other, symlinks=True)
    code = "from specchat_engine.llama import library as used; print(used.LIBRARIES); print(*used.loaded_libraries())"
    env = {**os.environ, "LLAMA_CPP_LIB_PATH": str(other)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    named, loaded = done.stdout.splitlines()
    assert named == str(other)
    if sys.platform == "linux":
        assert any(Path(each).parent == other for each in loaded.split() if "libllama" in each)


def test_loading_the_libraries_prints_nothing() -> None:
    """A portable build would report which processor's code it loads."""
    program = [sys.executable, "-c", "import specchat_engine.llama.library"]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=600)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("chosen", "spins"), [({}, "4000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "")]
)
def test_waiting_threads_leave_their_core_to_other_programs_soon_unless_the_user_chose(
    chosen: dict[str, str], spins: str
) -> None:
    code = "import os, specchat_engine.llama.library; print(os.environ.get('GOMP_SPINCOUNT', ''))"
    others = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    env = others | {"OMP_DISPLAY_ENV": "VERBOSE"} | chosen
    made = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    spin_counts = re.findall(r"GOMP_SPINCOUNT = '(\d+)'", made.stderr)
    if not spin_counts:
        pytest.skip("llama.cpp was built with another OpenMP than libgomp")
    assert not spins or spin_counts == [spins]
    assert made.stdout.strip() == chosen.get("GOMP_SPINCOUNT", "")
