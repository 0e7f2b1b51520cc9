"""Removing models from a cache that huggingface_hub has written."""

from __future__ import annotations

import pytest
from huggingface_hub import hf_hub_download

from specchat.models.environment import HubEnvironment
from specchat.models.names import find
from specchat.models.removal import remove
from support.hub_samples import MODEL, REPOSITORY, large_repository
from support.hub_server import TOKEN, Hub, Repository

OTHER = "tests/copy-GGUF"


@pytest.fixture
def shared(hub: Hub, storage: Hub, large: Repository, environment: HubEnvironment) -> int:
    """Two repositories with the same model, whose bytes huggingface_hub stores once; how many bytes these are."""
    hub.repositories[OTHER] = large_repository()
    for name in (REPOSITORY, OTHER):
        hf_hub_download(name, MODEL, endpoint=hub.url, cache_dir=environment.cache, token=TOKEN)
    size = len(large.files[MODEL])
    assert size <= disk_use(environment) < 2 * size, "huggingface_hub no longer shares bytes between repositories"
    return size


def disk_use(environment: HubEnvironment) -> int:
    return sum(path.lstat().st_size for path in environment.cache.rglob("*") if path.is_file() or path.is_symlink())


def test_shared_bytes_stay_until_the_last_repository_with_them_is_removed(
    shared: int, environment: HubEnvironment
) -> None:
    other = find(OTHER)
    remove(find(REPOSITORY))
    assert other.files[0].stat().st_size == shared
    remove(other)
    assert disk_use(environment) < 1_000
    assert not [*environment.cache.glob("models--*")]
