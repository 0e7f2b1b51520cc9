"""What is kept on disk to draft from: indexes of large texts, and turns that a draft model learns from."""

from specchat_engine.stores.recorded_turns import RecordedTurn, TurnBuffer
from specchat_engine.stores.suffixes import Continuation, Occurrences, Other, Suffixes, write_suffixes

__all__ = ["Continuation", "Occurrences", "Other", "RecordedTurn", "Suffixes", "TurnBuffer", "write_suffixes"]
