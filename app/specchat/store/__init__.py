"""Conversations kept in one SQLite file: a tree of messages for each, searchable by any word in them."""

from specchat.store.keeper import Keeper
from specchat.store.records import State, StoredMessage, StoredSession, ToolUse, new_id, newest_leaf, path_to, siblings
from specchat.store.search import SearchHit
from specchat.store.store import Store
from specchat.store.tags import tag_of
from specchat.store.turns import Counters, Totals, TurnFigures

__all__ = [
    "Counters",
    "Keeper",
    "SearchHit",
    "State",
    "Store",
    "StoredMessage",
    "StoredSession",
    "ToolUse",
    "Totals",
    "TurnFigures",
    "new_id",
    "newest_leaf",
    "path_to",
    "siblings",
    "tag_of",
]
