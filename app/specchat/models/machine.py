"""The memory and devices of this machine. They are queried in a process of its own because GPU drivers can crash.

`python -m specchat.models.machine` prints what `ask_machine` reads: one line of JSON.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from specchat.files import load_json, save_json
from specchat.settings.paths import cache_folder
from specchat.stats.summary import UNDISTURBED
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.threads.processors import Bandwidth

_log = logging.getLogger(__name__)
_TIMEOUT = 60.0
_MEASURE = "--bandwidth"


@dataclass(frozen=True, slots=True)
class ComputeDevice:
    """Where models run. `bandwidth` is in bytes a second; None if it was not asked for or not measured.

    `disturbed` says that it was only measured while other programs used the processors, so it may be larger.
    """

    machine: Machine
    cores: int
    bandwidth: float | None = None
    disturbed: bool = False

    @property
    def on_gpu(self) -> bool:
        """True if models run on a GPU."""
        return bool(self.machine.gpus())

    @property
    def memory(self) -> int:
        """The bytes that are free for a pair: on the GPUs, or else in main memory."""
        return sum(device.free for device in self.machine.gpus()) or self.machine.host.free

    @property
    def words(self) -> str:
        """A short description: `24 GB, 2 cores, no GPU`."""
        host = f"{self.machine.host.total / 1e9:.0f} GB, {self.cores} core{'' if self.cores == 1 else 's'}"
        gpus = [f"{device.name} {device.total / 1e9:.0f} GB" for device in self.machine.gpus()]
        return f"{host}, {' + '.join(gpus) or 'no GPU'}"


def ask_machine(*, bandwidth: bool = False) -> ComputeDevice:
    """This machine as it is now, without devices if the query fails. Blocks for a second.

    The bandwidth is the largest that was ever measured while the machine was quiet, or else the present one.
    """
    known = _known_bandwidth() if bandwidth else 0.0
    try:
        done = subprocess.run(
            [sys.executable, "-m", "specchat.models.machine", *([_MEASURE] if bandwidth else [])],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT,
        )
        answer = json.loads(done.stdout.splitlines()[-1])
        machine = Machine(tuple(DeviceMemory(**device) for device in answer["devices"]), frozenset(answer["repacked"]))
        measured = Bandwidth(*(answer["bandwidth"] or (0.0, 1.0)))
        best = max(measured.bytes_per_second, known)
        disturbed = not known and measured.cpu_share < UNDISTURBED
        place = ComputeDevice(machine, int(answer["cores"]), best or None, disturbed)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, IndexError) as error:
        _log.warning("this machine could not be queried: %s", error)
        return ComputeDevice(Machine(()), 1)
    if place.bandwidth and place.bandwidth > known and not disturbed:
        save_json(_bandwidth_file(), {"bytes_per_second": place.bandwidth})
    return place


def _known_bandwidth() -> float:
    """The largest bandwidth that was measured while the machine was quiet; 0 if there was none."""
    stored = load_json(_bandwidth_file(), dict[str, float]) or {}
    return max(stored.get("bytes_per_second", 0.0), 0.0)


def _bandwidth_file() -> Path:
    return cache_folder() / "bandwidth.json"


def _main() -> None:
    from specchat_engine.llama.machine import this_machine
    from specchat_engine.threads.processors import measure_bandwidth, read_processors

    machine, cores = this_machine(), read_processors().cores
    answer = {
        "devices": [asdict(device) for device in machine.devices],
        "repacked": sorted(machine.repacked),
        "cores": cores,
        "bandwidth": measure_bandwidth(cores) if _MEASURE in sys.argv else None,
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    _main()
