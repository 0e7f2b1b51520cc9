"""The header behind a name, whether the model is on this machine or still on the hub."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.errors import LibraryError
from specchat.models.finding import find, find_path
from specchat.models.hub import Hub
from specchat.models.references import on_the_hub, split_reference
from specchat.models.remote import remote_header
from specchat_engine.gguf import Header
from specchat_engine.gguf.files import read_model


@dataclass(frozen=True, slots=True)
class Described:
    """A model by its header. `place` is a path, or the repository and file on the hub; `size` of all files in bytes."""

    name: str
    place: str
    size: int
    is_here: bool
    header: Header


def describe(name: str, hub: Hub | None = None) -> Described:
    """What a name means: on this machine where there is such a model, else USER/REPO[:QUANT] on the hub.

    Raises LibraryError, HubError, ModelFileError, HeaderError, Stopped.
    """
    try:
        path = find_path(name)
    except LibraryError:
        if not _may_be_remote(name):
            raise
        asked = hub or Hub()
        model = on_the_hub(asked, name)
        header = remote_header(model.files, asked.patience, asked.control)
        return Described(name, f"{model.files[0].repository}/{model.path}", model.size, False, header)
    header = read_model(path)
    return Described(name, str(path), header.file_size or 0, True, header)


def _may_be_remote(name: str) -> bool:
    """Whether a name that nothing here has exactly could be a repository's."""
    if split_reference(name)[0].count("/") != 1:
        return False
    try:
        find(name)
    except LibraryError:
        return True
    return False
