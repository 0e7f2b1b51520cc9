"""A draft model that learns from what its target says: the turns, the drafts that came of them, and the training."""

from specchat.learning.background_training import BackgroundTraining
from specchat.learning.learned import Adoption, Learned, Learning, LearningHistory
from specchat.learning.page import learned_lines, learned_page

__all__ = ["Adoption", "BackgroundTraining", "Learned", "Learning", "LearningHistory", "learned_lines", "learned_page"]
