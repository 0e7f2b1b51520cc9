"""What this build can compute on is told as it is."""

from __future__ import annotations

import re

import pytest

from specchat_engine import SettingError
from specchat_engine.llama import devices
from specchat_engine.llama.devices import (
    Device,
    device_array,
    has_gpu,
    llama_version,
    supports_gpu_offload,
    system_info,
)
from specchat_engine.llama.model import LlamaModel
from support.engine_files import EngineFiles


def test_every_build_has_a_processor() -> None:
    found = devices.devices()
    kinds = [device.kind for device in found]
    assert "cpu" in kinds
    assert all(0 <= device.memory_free <= device.memory_total for device in found)
    assert all(device.name and device.description for device in found)


def test_offload_is_promised_only_if_there_is_a_gpu_build() -> None:
    gpus = [device for device in devices.devices() if device.kind in ("gpu", "integrated gpu")]
    assert supports_gpu_offload() or not gpus


def test_no_names_mean_all_devices() -> None:
    assert device_array(()) is None


def test_devices_are_found_by_name_whatever_the_case_and_end_with_null() -> None:
    name = devices.devices()[0].name
    array = device_array((name.upper(), name.lower()))
    assert len(array) == 3
    assert array[0] == array[1]
    assert array[2] is None


def test_an_unknown_device_is_rejected_with_those_there_are() -> None:
    with pytest.raises(SettingError, match=r"no device 'CUDA77': this build has .*cpu"):
        device_array(("CUDA77",))


def test_layers_can_be_on_a_gpu_if_one_of_the_named_devices_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Device("CPU", "", "cpu", 1, 1), Device("CUDA0", "", "gpu", 1, 1)]
    monkeypatch.setattr(devices, "devices", lambda: found)
    monkeypatch.setattr(devices, "supports_gpu_offload", lambda: True)
    assert (has_gpu(), has_gpu(("cuda0",)), has_gpu(("CPU",))) == (True, True, False)
    monkeypatch.setattr(devices, "supports_gpu_offload", lambda: False)
    assert not has_gpu()
    found.pop()
    assert not has_gpu()


def test_the_build_describes_itself() -> None:
    assert re.match(r"[\w.-]+", llama_version())
    assert "=" in system_info()


def test_a_model_is_on_a_gpu_if_all_of_its_layers_are(files: EngineFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_engine.llama.model.has_gpu", lambda names: "CPU" not in names)
    for layers, names, whole in ((-1, (), True), (99, (), True), (1, (), False), (0, (), False), (-1, ("CPU",), False)):
        model = LlamaModel(files.target, gpu_layers=layers, devices=names)
        assert model.on_gpu == whole
        model.close()
