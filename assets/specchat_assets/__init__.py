"""What ships with specchat: the built-in pair of models, and heads for its target."""

from __future__ import annotations

from pathlib import Path

TARGET_NAME = "specchat-guide-18m.gguf"
DRAFT_NAME = "specchat-draft-2m.gguf"
HEAD_NAMES = ("specchat-guide-eagle3.gguf", "specchat-guide-mlp.safetensors")
MODELS = Path(__file__).parent / "models"


class BuiltinPairError(FileNotFoundError):
    """A model of the built-in pair is missing."""

    def __str__(self) -> str:
        return str(self.args[0])


def builtin_pair() -> tuple[Path, Path]:
    """The paths of the built-in target and its draft model.

    Raises BuiltinPairError if one is missing, as in a checkout without the weights.
    """
    target, draft = MODELS / TARGET_NAME, MODELS / DRAFT_NAME
    for path in (target, draft):
        if not path.is_file():
            raise BuiltinPairError(
                f"the built-in model {path} is missing: make it with `make builtin-pair`, or give -m"
            )
    return target, draft


def is_guide(target: Path) -> bool:
    """Whether this target is the built-in guide."""
    return target.name == TARGET_NAME


def builtin_heads() -> tuple[Path, ...]:
    """The paths of those heads for the built-in target that are there."""
    return tuple(path for path in (MODELS / name for name in HEAD_NAMES) if path.is_file())
