"""Downloads the text files of a dataset of the hub."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile

from specchat.errors import HubError
from specchat.models.environment import access_token, hub_environment

_SUFFIXES = (".jsonl", ".json", ".txt", ".md")
_MOST_BYTES = 256 * 2**20


def dataset_files(name: str) -> list[Path]:
    """The files with texts or chats of a dataset, named USER/DATASET, in the hub's cache; at most 256 MiB of them.

    Raises HubError if it cannot be reached, or has no such files.
    """
    environment, token = hub_environment(), access_token()
    try:
        api = HfApi(endpoint=environment.endpoint, token=token)
        tree = [*api.list_repo_tree(name, repo_type="dataset", recursive=True)]
        files = [entry for entry in tree if isinstance(entry, RepoFile) and Path(entry.path).suffix in _SUFFIXES]
        chosen, total = [], 0
        for file in sorted(files, key=lambda entry: (_SUFFIXES.index(Path(entry.path).suffix), entry.path)):
            total += file.size
            if total <= _MOST_BYTES and not _is_about(file.path):
                chosen.append(file.path)
        if not chosen:
            others = {Path(entry.path).suffix for entry in tree if isinstance(entry, RepoFile)}
            has = f"; it has {', '.join(sorted(filter(None, others)))}" if any(others) else ""
            raise HubError(
                f"the dataset {name} has no .jsonl, .json, .txt or .md files of up to 256 MiB{has}: convert it to JSON "
                "lines, and name the file"
            )
        return [
            Path(
                hf_hub_download(
                    name,
                    path,
                    repo_type="dataset",
                    cache_dir=environment.cache,
                    endpoint=environment.endpoint,
                    token=token,
                )
            )
            for path in chosen
        ]
    except RepositoryNotFoundError:
        raise HubError(f"there is no dataset {name} on the hub, or it is private: check the name") from None
    except (HfHubHTTPError, HFValidationError, OfflineModeIsEnabled, OSError) as error:
        raise HubError(f"the dataset {name} cannot be downloaded: {str(error).splitlines()[0]}") from None


def _is_about(path: str) -> bool:
    """Whether a file describes the dataset."""
    return Path(path).name.lower() in ("readme.md", "dataset_infos.json", "license.txt", "license.md")
