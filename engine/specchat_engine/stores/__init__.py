"""What is kept on disk to draft from: indexes of large texts, and turns that a draft model learns from."""

from specchat_engine.stores.lessons import Turn, TurnBook
from specchat_engine.stores.suffixes import Places, Suffixes, write_suffixes

__all__ = ["Places", "Suffixes", "Turn", "TurnBook", "write_suffixes"]
