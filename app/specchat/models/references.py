"""Models of the hub as people name them."""

from __future__ import annotations

from urllib.parse import urlsplit

from specchat.models.environment import hub_environment
from specchat.models.hub import Hub
from specchat.models.hub_files import HubFile
from specchat.models.names import Group

_PAGES = ("https://huggingface.co/", "https://hf.co/", "huggingface.co/", "hf.co/", "hf:")


def split_reference(name: str) -> tuple[str, str]:
    """The repository and the wished quantisation or file of `USER/REPO[:QUANT]`, also from a page's address."""
    for page in (f"{hub_environment().endpoint}/", *_PAGES):
        if name.startswith(page):
            name = urlsplit(name.removeprefix(page)).path
            break
    repository, _, wanted = name.strip("/").partition(":")
    repository, _, inside = repository.partition("/blob/main/") if "/blob/" in repository else (repository, "", "")
    return repository.removesuffix("/tree/main"), wanted or inside


def on_the_hub(hub: Hub, name: str) -> Group[HubFile]:
    """The model that `USER/REPO[:QUANT]` means. Raises HubError."""
    repository, wanted = split_reference(name)
    return hub.files(repository).choose(wanted)
