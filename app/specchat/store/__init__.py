"""Conversations kept in one SQLite file: a tree of messages each, found again by any word in them.

Names are imported when they are first used: the records alone are all that a first screen needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specchat.store.counters import Counters
    from specchat.store.keeper import Keeper
    from specchat.store.records import State, StoredMessage, StoredSession, new_id
    from specchat.store.search import SearchHit
    from specchat.store.store import Store
    from specchat.store.totals import Totals, TurnFigures
    from specchat.store.tree import newest_leaf, path_to, siblings

_HOMES = {
    "Counters": "counters",
    "Keeper": "keeper",
    "SearchHit": "search",
    "State": "records",
    "Store": "store",
    "StoredMessage": "records",
    "StoredSession": "records",
    "Totals": "totals",
    "TurnFigures": "totals",
    "new_id": "records",
    "newest_leaf": "tree",
    "path_to": "tree",
    "siblings": "tree",
}

__all__ = [
    "Counters",
    "Keeper",
    "SearchHit",
    "State",
    "Store",
    "StoredMessage",
    "StoredSession",
    "Totals",
    "TurnFigures",
    "new_id",
    "newest_leaf",
    "path_to",
    "siblings",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"specchat.store.{home}"), name)
