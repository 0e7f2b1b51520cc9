"""A draft model that learns from what its target says: the turns, the drafts that came of them, and the training."""

from specchat.learning.learned import Adoption, History, Learned, Learning
from specchat.learning.page import learned_lines, learned_page
from specchat.learning.training import BackgroundTraining

__all__ = ["Adoption", "BackgroundTraining", "History", "Learned", "Learning", "learned_lines", "learned_page"]
