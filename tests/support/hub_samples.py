"""Shared by the tests of downloads: short retry policies, files, and pulls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from specchat.models.control import RetryPolicy
from specchat.models.hub import Hub
from specchat.models.model_files import HubFile
from specchat.models.pull import Pull
from support.hub_faults import Fault, Wrong
from support.hub_server import Repository
from support.tiny_models import write_tiny_model

IMPATIENT = RetryPolicy(
    attempts=3, first_wait=0.001, longest_wait=0.002, longest_retry_after=2.0, timeout=60.0, progress=2**15
)
"""Few tries, one after the other; a response may come late, since the machine may be busy."""

REPOSITORY = "tests/tiny-GGUF"
MODEL = "tiny-F16.gguf"


def tiny_repository(seed: int = 1) -> Repository:
    """A repository with one real model of a few hundred kilobytes."""
    return Repository({MODEL: tiny_model(seed), "README.md": b"# tiny"})


def large_repository() -> Repository:
    """A repository with one real model of a few megabytes, more than one read of a response delivers."""
    return Repository({MODEL: tiny_model(seed=7, layers=6, width=256)})


@cache
def tiny_model(seed: int, layers: int = 2, width: int = 64) -> bytes:
    """The bytes of a model; they depend on the seed."""
    with TemporaryDirectory() as folder:
        return write_tiny_model(Path(folder) / "tiny.gguf", seed=seed, layers=layers, width=width).read_bytes()


def retry_for(fault: Fault) -> RetryPolicy:
    """A short timeout for servers that stall, and a long one for all others."""
    return replace(IMPATIENT, timeout=2.0) if fault.wrong is Wrong.STALL else IMPATIENT


def wait_until_still(done: Callable[[], int]) -> None:
    """Waits until a download, which has `done()` bytes, gets no more: a slow hub sends some every 0.05 seconds."""
    latest = [-1, *range(9)]
    while len(set(latest)) > 1:
        time.sleep(0.1)
        latest = [*latest[1:], done()]


def client(retry: RetryPolicy = IMPATIENT) -> Hub:
    """A client with few retries."""
    return Hub(retry)


def listed(repository: str = REPOSITORY, wanted: str = "") -> tuple[HubFile, ...]:
    """The files of a model on the hub."""
    return client().files(repository).choose(wanted).files


def pulled(files: tuple[HubFile, ...], retry: RetryPolicy = IMPATIENT) -> Pull:
    """A pull that has ended, successfully or not."""
    pull = Pull(files, retry)
    pull.start()
    assert pull.wait(60)
    return pull
