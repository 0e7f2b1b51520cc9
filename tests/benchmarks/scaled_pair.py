"""Grows the built-in pair to the size of real models with the same output: real acceptance, real memory traffic.

Another pair of the same architecture can be grown, too.

Prints a line for each file: path, parameters, bytes. A file that exists is kept; its name ends with a digest of the
source file, the sizes and the seed. Do not commit these files.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.growth import Growth, Shape, choose_shape
from benchmarks.growth_writer import PRECISIONS, Source, read_source, write_grown, write_grown_head
from specchat.settings.paths import cache_folder
from specchat_assets import builtin_pair
from specchat_engine import EngineError, SettingError
from support.quantise import FLOAT_TYPES, QUANTISED_TYPES, quantise

UNITS = {"M": 10**6, "B": 10**9}


def parameters(text: str) -> int:
    """Parses a number of parameters such as 0.5B or 100M."""
    match = re.fullmatch(r"(\d+\.?\d*)([MB])", text.upper())
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write it as 0.5B or 100M")
    return round(float(match[1]) * UNITS[match[2]])


def share(text: str) -> float:
    """Parses a share greater than 0 and at most 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: use 0.03 to 0.1, at most 1")
    return value


def short(number: int) -> str:
    """A number of parameters with three digits: 501M, 1.50B."""
    return f"{number / 1e9:.2f}B" if number >= 10**9 else f"{number / 1e6:.3g}M"


def grow(source: Source, shape: Shape, kind: str, seed: int, folder: Path, noise: float = 0.0) -> Path:
    """The file of the grown model. Writes it unless it exists."""
    growth = Growth(source.shape, shape, source.epsilon, seed, noise)
    digest = hashlib.sha256(source.path.read_bytes() + repr((shape, seed, noise)).encode()).hexdigest()[:8]
    name = f"{source.path.stem}-grown-{short(shape.parameters)}"
    path = folder / f"{name}-{kind}-{digest}.gguf"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if kind in PRECISIONS:
        finish(path, lambda part: write_grown(part, source, growth, kind, name))
        return path
    whole = path.with_suffix(".f16")
    try:
        finish(whole, lambda part: write_grown(part, source, growth, "F16", name))
        finish(path, lambda part: quantise(whole, part, kind))
    finally:
        whole.unlink(missing_ok=True)
    return path


def finish(path: Path, write: Callable[[Path], None]) -> None:
    """Writes under a temporary name of this process first, so that a file that exists is complete."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def grow_pair(options: argparse.Namespace) -> None:
    """Writes the target, then the draft, and prints their paths."""
    target, draft = read_source(options.model), read_source(options.draft)
    vocabulary = target.shape.vocabulary if options.vocabulary is None else options.vocabulary
    large = choose_shape(target.shape, options.target_size, vocabulary)
    draft_size = round(large.parameters * options.draft_share)
    if options.experts:
        large = large.mixture(options.experts, options.used, target.shape.feed_forward)
    try:
        little = choose_shape(draft.shape, draft_size, vocabulary)
    except SettingError as error:
        raise SettingError(f"the draft: {error}: raise --draft-share or --target-size") from error
    for source, shape, noise in ((target, large, 0.0), (draft, little, options.draft_noise)):
        path = grow(source, shape, options.type, options.seed, options.out, noise)
        print(path, shape.parameters, path.stat().st_size, sep="\t", flush=True)
    if options.head:
        growth = Growth(target.shape, large, target.epsilon, options.seed)
        kind = options.type if options.type in FLOAT_TYPES else "Q8_0"
        path = options.out / f"{options.head.stem}-grown-{short(large.parameters)}-{kind}.gguf"
        finish(path, lambda part: write_grown_head(part, options.head, growth, kind))
        print(path, "", path.stat().st_size, sep="\t", flush=True)


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    model, draft = builtin_pair()
    parser.add_argument("-m", "--model", type=Path, default=model, metavar="FILE", help="target [built-in]")
    parser.add_argument("-d", "--draft", type=Path, default=draft, metavar="FILE", help="draft model [built-in]")
    parser.add_argument("--head", type=Path, metavar="FILE", help="an EAGLE-3 head of the target")
    parser.add_argument("--out", type=Path, default=cache_folder() / "scaled-pairs", metavar="FOLDER")
    parser.add_argument(
        "--target-size",
        type=parameters,
        default="0.5B",
        metavar="N",
        help="0.5B, 100M; of a mixture, what a token uses",
    )
    parser.add_argument("--draft-share", type=share, default=0.05, metavar="N", help="of the target's parameters")
    types = (*FLOAT_TYPES, *QUANTISED_TYPES)
    parser.add_argument("--type", type=str.upper, choices=types, default="BF16", metavar="TYPE", help="BF16, Q4_K_M, …")
    parser.add_argument("--vocabulary", type=int, metavar="N", help="pad the vocabulary to this many tokens")
    parser.add_argument("--experts", type=int, default=0, metavar="N", help="make the target a mixture of N experts")
    parser.add_argument("--used", type=int, default=2, metavar="N", help="experts that a token uses [2]")
    parser.add_argument("--draft-noise", type=float, default=0.0, metavar="X", help="makes the draft a worse guesser")
    parser.add_argument("--seed", type=int, default=1)
    try:
        grow_pair(parser.parse_args())
    except (EngineError, OSError) as error:
        where = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"scaled_pair: {where}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
