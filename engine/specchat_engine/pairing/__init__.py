"""Whether a draft model or a head fits a target, judged by their headers, before a download and again at load."""

from specchat_engine.pairing.heads import head_in, is_assistant, own_head, several, trainable_head, what_drafts
from specchat_engine.pairing.judge import PairVerdict, check_pair, judge
from specchat_engine.pairing.state_heads import read_state_head
from specchat_engine.pairing.tokens import Grade, PairFinding

__all__ = [
    "Grade",
    "PairFinding",
    "PairVerdict",
    "check_pair",
    "head_in",
    "is_assistant",
    "judge",
    "own_head",
    "read_state_head",
    "several",
    "trainable_head",
    "what_drafts",
]
