"""`specchat models search` and `files`."""

from __future__ import annotations

from dataclasses import asdict

from specchat.cli.models_tables import print_json, print_rows
from specchat.cli.reporting import say
from specchat.models.hub import Hub
from specchat.models.names import choose
from specchat.models.references import split_reference
from specchat.models.sizes import count, in_words


def search(text: str, limit: int, *, as_json: bool) -> None:
    """Prints the repositories. Raises HubError."""
    found = Hub().search(text, limit)
    if as_json:
        print_json(*({"type": "repository", **asdict(one)} for one in found))
        return
    if not found:
        say(f"the hub has no GGUF repository with {text!r} in its name: try fewer words")
        return
    print_rows(
        ("repository", "downloads", "parameters", "architecture", "access"),
        (
            (one.id, str(one.downloads), count(one.parameters), one.architecture, "gated" if one.gated else "")
            for one in found
        ),
    )


def files(repository: str, *, as_json: bool) -> None:
    """Prints the models of a repository, marking the one that `pull` takes where nobody chooses. Raises HubError."""
    listing = Hub().files(split_reference(repository)[0])
    usual = choose([model for model in listing.models if not model.missing], "")
    if as_json:
        print_json(
            *(
                {
                    "type": "model",
                    "repository": listing.repository,
                    "commit": listing.commit,
                    "gated": listing.gated,
                    "quantisation": model.quantisation,
                    "size": model.size,
                    "files": [asdict(file) for file in model.files],
                    "missing": model.missing,
                    "usual": model is usual,
                }
                for model in listing.models
            )
        )
        return
    if not listing.models:
        say(f"{listing.repository} has no GGUF file: search for one whose name ends in GGUF")
        return
    print_rows(
        ("quantisation", "size", "parts", "usual", "file"),
        (
            (
                model.quantisation,
                in_words(model.size),
                str(len(model.files)),
                "*" if model is usual else "",
                f"{model.path} (incomplete)" if model.missing else model.path,
            )
            for model in listing.models
        ),
    )
    if listing.gated:
        say(f"{listing.repository} is gated: accept its conditions on its page and log in before you pull")
