"""Lets other people's programs score and load `specchat serve` with the built-in pair.

    python -m support.serve_check --tools FOLDER

FOLDER has `lm_eval`, which scores answers by the log-probabilities of prompts and generates some, and `aiperf`, which
asks several questions at a time and reads in the answers how much was drafted: that has to be what the server counted.
The exit code is 1 if anything fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from specchat_assets import builtin_pair
from support.hf_models import convert
from support.real_server import real_server
from support.remote_answers import counters

_SECONDS = 300
_MODEL = "specchat-guide"
_REQUESTS = 12

_QUESTIONS = (
    ("What verifies the drafted tokens?", ("the target", "the moon", "a cable", "the keyboard"), 0),
    ("What is a draft model?", ("a kind of river", "a small model that proposes tokens", "a large screen"), 1),
    ("What happens to drafted tokens after a rejection?", ("they are eaten", "they sing", "they are discarded"), 2),
    ("What is k?", ("a colour", "a city", "the most tokens drafted in a round", "a friend"), 2),
)

_SCORED = """
output_type: multiple_choice
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: acc_norm, aggregation: mean, higher_is_better: true}]
"""

_GENERATED = """
output_type: generate_until
doc_to_target: "{{choices[answer]}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 32, do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


def write_tasks(folder: Path) -> None:
    """Writes the questions and two tasks that are made of them, as lm-eval reads them."""
    folder.mkdir()
    questions = folder / "questions.jsonl"
    lines = [json.dumps({"question": text, "choices": all_, "answer": right}) for text, all_, right in _QUESTIONS]
    questions.write_text("\n".join(lines) + "\n")
    for name, own in (("specchat_scored", _SCORED), ("specchat_generated", _GENERATED)):
        common = f"task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {questions}}}}}\n"
        asked = 'test_split: test\ndoc_to_text: "Question: {{question}}\\nAnswer:"'
        (folder / f"{name}.yaml").write_text(common + asked + own)


def run(work: Path, *words: str) -> None:
    """Runs a program that may not look anything up. Raises RuntimeError with its last lines if it fails."""
    environment = os.environ | {"HOME": str(work), "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(words, env=environment, cwd=work, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")


def read_only(folder: Path, pattern: str) -> Any:
    """The only JSON file of this name."""
    (found,) = folder.rglob(pattern)
    return json.loads(found.read_text())


def is_scored(tools: Path, url: str, work: Path, tokenizer: Path) -> bool:
    """Whether lm-eval finds the right answers the likeliest, and gets generated ones, with ids and with texts."""
    write_tasks(work / "tasks")
    right = True
    for ids in (True, False):
        found = work / f"scores-{ids}"
        server = f"base_url={url}/v1/completions,model={_MODEL},num_concurrent=2,max_length=1024"
        how = f"tokenizer={tokenizer},tokenizer_backend=huggingface,tokenized_requests={ids}"
        words = (
            "--model",
            "local-completions",
            "--model_args",
            f"{server},{how}",
            "--include_path",
            str(work / "tasks"),
        )
        tasks = ("--tasks", "specchat_scored,specchat_generated", "--output_path", str(found))
        run(work, str(tools / "lm_eval"), "run", *words, *tasks)
        results = read_only(found, "results*.json")["results"]
        right &= results["specchat_scored"]["acc_norm,none"] == 1.0
        right &= "exact_match,none" in results["specchat_generated"]
    return right


def is_loaded(tools: Path, url: str, work: Path, tokenizer: Path) -> bool:
    """Whether aiperf gets all answers, and reads from them the drafts that the server counted."""
    before = counters(url)
    how = ("--endpoint-type", "chat", "--streaming", "--concurrency", "2", "--request-count", str(_REQUESTS))
    sizes = ("--synthetic-input-tokens-mean", "64", "--output-tokens-mean", "32", "--ui", "none")
    words = ("profile", "--model", _MODEL, "--url", url, "--tokenizer", tokenizer.name, *how, *sizes)
    run(work, str(tools / "aiperf"), *words, "--extra-inputs", "k:4")
    profile = read_only(work / "artifacts", "profile_export_aiperf.json")
    counted = counters(url) - before
    drafted, accepted = profile["total_draft_tokens"]["avg"], profile["total_accepted_draft_tokens"]["avg"]
    both = (counted["num_draft_tokens"], counted["num_accepted_tokens"])
    answers = profile["request_count"]["avg"]
    print(f"  {answers:g} answers, drafted and accepted: {drafted:g} {accepted:g} reported, {both} counted")  # noqa: T201
    return answers == _REQUESTS and not profile["error_summary"] and (drafted, accepted) == both and drafted > 0


def main() -> int:
    """Checks with every program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, required=True, help="the folder with lm_eval and aiperf")
    tools = parser.parse_args().tools.absolute()
    target, draft = builtin_pair()
    well = True
    with tempfile.TemporaryDirectory() as folder, real_server("-m", target, "-d", draft, "-np", "2") as server:
        work = Path(folder)
        convert(target, work / "guide")
        for name, holds in (("lm-eval", is_scored), ("aiperf", is_loaded)):
            found = holds(tools, server.url, work, work / "guide")
            print(f"{name}: {'ok' if found else 'FAILED'}", flush=True)  # noqa: T201
            well &= found
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
