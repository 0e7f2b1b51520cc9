"""What is kept on disk to draft from: indexes of large texts, and turns that a draft model learns from."""

from specchat_engine.stores.recorded_turns import RecordedTurn, TurnBuffer
from specchat_engine.stores.suffixes import Continuation, Other, Places, Suffixes, write_suffixes

__all__ = ["Continuation", "Other", "Places", "RecordedTurn", "Suffixes", "TurnBuffer", "write_suffixes"]
