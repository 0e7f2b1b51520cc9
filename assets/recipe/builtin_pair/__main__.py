"""Makes the built-in pair: `python -m builtin_pair all --work DIR`, or one stage at a time."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from builtin_pair import heads, publishing, stages
from builtin_pair.evaluation import evaluate
from builtin_pair.stages import Run

_STAGES: Mapping[str, Callable[[Run], None]] = {
    "tokenizer": stages.train_tokenizer,
    "target-copying": stages.train_target_copying,
    "target-skills": stages.train_target_skills,
    "target-choosing": stages.train_target_choosing,
    "target": stages.train_target,
    "target-matching": stages.train_target_matching,
    "target-lengthening": stages.train_target_lengthening,
    "target-averaged": stages.average_target,
    "target-settling": stages.settle_target,
    "target-finished": stages.finish_target,
    "target-quoting": stages.train_target_quoting,
    "target-quoted": stages.average_quoting_target,
    "help": publishing.make_help,
    "teach": stages.teach_draft,
    "draft-copying": stages.train_draft_copying,
    "draft": stages.train_draft,
    "export": publishing.export,
    "eagle3": heads.train_eagle,
    "mtp": heads.train_predicting,
    "medusa": heads.train_medusa,
    "mlp": heads.train_speculator,
    "evaluate": evaluate,
    "publish": publishing.publish,
}

_THINKING: Mapping[str, Callable[[Run], None]] = {
    "target-thinking": stages.train_thinking_target,
    "teach-thinking": stages.teach_thinking_draft,
    "draft-thinking": stages.train_thinking_draft,
    "export-thinking": publishing.export_thinking,
}
"""The stages of a pair that thinks before it answers, which is measured and not published."""

_HEADS = ("eagle3", "mtp", "medusa", "mlp")
_GROUPS: Mapping[str, tuple[str, ...]] = {"all": tuple(_STAGES), "heads": _HEADS, "thinking": tuple(_THINKING)}


def main() -> None:
    """Runs one stage, or all of them in order. Each continues from what it finds in the work folder."""
    parser = argparse.ArgumentParser(prog="builtin_pair", description=__doc__)
    parser.add_argument("stage", nargs="?", default="all", choices=["adopt", *_GROUPS, *_STAGES, *_THINKING])
    parser.add_argument("--work", type=Path, required=True, help="folder for checkpoints and results")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--target-deadline", type=_moment, help="finish the target by then, like 2026-01-31T14:00 (UTC)"
    )
    parser.add_argument("--draft-deadline", type=_moment, help="finish the draft by then")
    parser.add_argument("--precision", choices=("F32", "F16", "BF16", "Q8_0"), default="F16")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    arguments.work.mkdir(parents=True, exist_ok=True)
    run = Run(arguments.work, arguments.seed, arguments.target_deadline, arguments.draft_deadline, arguments.precision)
    if arguments.stage == "adopt" or (arguments.stage in ("heads", "thinking") and not run.target_file.exists()):
        publishing.adopt(run)
    for name, stage in {**_STAGES, **_THINKING}.items():
        if name in _GROUPS.get(arguments.stage, (arguments.stage,)):
            logging.info("stage %s", name)
            stage(run)
    logging.info("done")


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


if __name__ == "__main__":
    main()
