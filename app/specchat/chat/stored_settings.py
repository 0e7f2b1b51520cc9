"""Settings as a stored session has them, back in a form that the pair of today can serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from specchat_engine.codec import from_json
from specchat_engine.errors import SettingError
from specchat_engine.settings import AUTO, Settings


def settings_from(kept: Mapping[str, Any], drafters: Sequence[str], k_max: int) -> Settings:
    """The settings that were kept, with a drafter and a k that this pair has.

    Raises SettingError for values that no settings can have.
    """
    try:
        settings = from_json(Settings, kept)
    except (TypeError, ValueError, AttributeError) as error:
        raise SettingError(f"{error}: the settings in force stay as they are") from None
    if settings.drafter not in drafters:
        settings = replace(settings, drafter=drafters[0])
    return settings if settings.k == AUTO else replace(settings, k=min(settings.k, k_max))
