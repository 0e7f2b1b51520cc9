"""What all tools are asked: the same tokens, which specchat reads whole."""

from argparse import Namespace
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase

from benchmarks.peers.__main__ import tasks_of
from benchmarks.peers.specchat_runner import open_engine
from specchat_engine import Settings
from support.thinking_models import write_successors
from support.tiny_models import TEMPLATE


def test_no_tool_gets_a_turn_that_specchat_drops(tmp_path: Path) -> None:
    alphabet = {token: {follower: 1.0} for token, follower in pairwise(["Ċ", *ascii_lowercase, "<|im_end|>"])}
    model = write_successors(tmp_path / "alphabet.gguf", alphabet, (), template=TEMPLATE, controls=())
    prompts = tmp_path / "stories.txt"
    prompts.write_text("Tell me a story.\nTell me a longer story about a lighthouse and a cat.\n", "utf-8")
    asked = Namespace(prompts=prompts, each=1, earlier=[0, 900], temperatures=[0.0], max_tokens=8)
    with open_engine(model, model, threads=1) as engine:
        short, long = tasks_of(asked, engine)
        assert len(short.messages) == 1
        assert len(long.messages) > 1
        session = engine.session(settings=Settings(k=0, max_tokens=8), seed=1)
        for _ in session.answer(long.messages, 0):
            pass
        assert tuple(session.prompt_ids) == long.ids
        assert not session.notices
