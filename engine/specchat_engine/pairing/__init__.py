"""Whether a draft model fits a target, told from their headers: before a download, and again when they are loaded."""

from specchat_engine.pairing.judge import check_pair, judge
from specchat_engine.pairing.verdict import Finding, Grade, Verdict

__all__ = ["Finding", "Grade", "Verdict", "check_pair", "judge"]
