"""Split speculation: the draft model computes here, the target somewhere else, and only token ids travel.

The coupled rule makes that possible: the target's draws depend on its own distribution and on noise that both sides can
compute from the seed. So neither probabilities nor logits have to be exchanged, and the text is the same as if both
models were in one place. An experiment.

The side of the target is a `Session` with `drafts_for`.
"""

from specchat_engine.split.drafting import SplitRound, split_answer
from specchat_engine.split.draws import Draws, DrawsFor

__all__ = ["Draws", "DrawsFor", "SplitRound", "split_answer"]
