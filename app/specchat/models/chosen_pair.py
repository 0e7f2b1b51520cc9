"""Which models a command uses: the configured pair, else the one that ships with specchat."""

from __future__ import annotations

from pathlib import Path

from specchat.models.shelf import read_shelf
from specchat.settings.config import Config
from specchat.settings.options import ChatOptions
from specchat_assets import builtin_pair
from specchat_engine import LoadOptions
from specchat_engine.settings import AUTO


def chat_options(config: Config) -> ChatOptions:
    """What the configuration asks for. A configured model without a draft has none: lookup drafts for it.

    Models are named as in `specchat models ls`, or by their path. Raises LibraryError for a name that none has, and
    BuiltinPairError where no model is configured and the built-in pair is missing.
    """
    target, draft = _chosen_pair(config)
    return ChatOptions(
        target=target,
        draft=draft,
        options=load_options(config),
        k=config.k,
        drafter=config.drafter,
        verifier=config.verifier,
        sampling=config.sampling,
        max_tokens=config.max_tokens,
        seed=config.seed,
        system=config.system,
    )


def load_options(config: Config) -> LoadOptions:
    """How the configuration wants models to be loaded."""
    return LoadOptions(
        n_ctx=config.ctx_size,
        gpu_layers=config.gpu_layers,
        gpu_layers_draft=config.gpu_layers_draft,
        devices=config.device,
        devices_draft=config.device_draft,
        tensor_split=config.tensor_split,
        main_gpu=config.main_gpu,
        threads=config.threads,
        threads_draft=config.threads_draft,
        batch_size=config.batch_size,
        ubatch_size=config.ubatch_size,
        flash_attention=config.flash_attention,
        cache_type_k=config.cache_type_k,
        cache_type_v=config.cache_type_v,
        k_max=LoadOptions().k_max if config.k == AUTO else max(config.k, LoadOptions().k_max),
    )


def _chosen_pair(config: Config) -> tuple[Path, Path | None]:
    """The configured pair, else the default one of `specchat models default`, else the built-in one."""
    if config.model is not None:
        names = config.model.as_posix(), config.draft.as_posix() if config.draft else ""
    elif (default := read_shelf().default) is not None:
        names = default.target, default.draft
    else:
        return builtin_pair()
    from specchat.models.finding import find_path

    target, draft = names
    return find_path(target), find_path(draft) if draft else None
