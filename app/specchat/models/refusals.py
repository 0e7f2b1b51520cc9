"""What the hub's refusals mean, and what to do about each."""

from __future__ import annotations

from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from specchat.errors import HubError
from specchat.models.environment import hub_environment
from specchat.terminal.filter import clean_line


class UnknownRepositoryError(HubError):
    """A repository that is not there, or that this user may not see."""


def refusal(error: HfHubHTTPError, url: str, *, logged_in: bool) -> HubError:
    """The error to raise for one of huggingface_hub's."""
    what = _repository(url)
    if isinstance(error, GatedRepoError):
        page = f"{hub_environment().endpoint}/{what}"
        login = "" if logged_in else ", log in with `hf auth login` (or set HF_TOKEN)"
        return HubError(f"{what} is gated: accept its conditions on {page}{login}, then run this again")
    if isinstance(error, RepositoryNotFoundError):
        private = "it may be private to another account" if logged_in else "if it is private, `hf auth login` first"
        return UnknownRepositoryError(f"there is no repository {what} on the hub: check its name; {private}")
    if isinstance(error, RevisionNotFoundError | RemoteEntryNotFoundError):
        return HubError(f"{what} has changed: list its files again with `specchat models files {what}`")
    if isinstance(error, DisabledRepoError):
        return HubError(f"{what} was disabled by the hub: choose another repository")
    status = error.response.status_code
    if status == 401:
        return HubError("the hub does not accept your token: log in again with `hf auth login`, or correct HF_TOKEN")
    if status == 416:
        return HubError(f"the server has fewer bytes of a file of {what} than the hub lists: try again later")
    reason = clean_line(str(error.server_message or "no reason given"))[:200]
    return HubError(f"{what} is refused with status {status}: {reason}; try again later, or another HF_ENDPOINT")


def _repository(url: str) -> str:
    path = url.split("?")[0].removeprefix(hub_environment().endpoint).lstrip("/").removeprefix("api/models/")
    return clean_line("/".join(path.split("/")[:2])) or "the hub"
