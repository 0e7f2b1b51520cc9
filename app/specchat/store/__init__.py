"""Conversations kept in one SQLite file: a tree of messages each, found again by any word in them."""

from specchat.store.counters import Counters
from specchat.store.keeper import Keeper
from specchat.store.records import State, StoredMessage, StoredSession, new_id
from specchat.store.search import SearchHit
from specchat.store.store import Store
from specchat.store.totals import Totals, TurnFigures
from specchat.store.tree import newest_leaf, path_to, siblings

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
