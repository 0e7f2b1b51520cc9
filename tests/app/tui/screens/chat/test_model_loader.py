"""Other models while the chat is open."""

from dataclasses import replace
from pathlib import Path

from app.tui.chatting import ask, chat, command, header, notices, screen, shown
from app.tui.scripted_client import LOADED, ScriptedClient, script
from specchat.engine_process.protocol import TaskFailed
from specchat_engine.load_options import ModelInfo

OTHER = replace(LOADED, target=ModelInfo("other", "other.gguf", n_params=1_000_000_000), draft=None)


async def test_another_target_is_loaded_without_the_draft_model_and_the_conversation_stays(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.touch()
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.load_events = (replace(OTHER, drafters=("lookup", "none")),)
        await command(pilot, f"/model {other}")
        assert "other 1.0B" in header(pilot)
        assert "lookup" in header(pilot)
        assert shown(pilot) == ["Who?", " one"]
        await ask(pilot, "Why?")
        assert [message.content for message in client.asked[-1]] == ["Who?", " one", "Why?"]
        assert (screen(pilot).state.session.options.target, screen(pilot).state.session.options.draft) == (other, None)


async def test_a_context_that_memory_shortened_is_said_for_the_first_pair_and_for_later_ones(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.touch()
    client = ScriptedClient(load_events=(replace(LOADED, notices=("4,096 tokens fit",)),))
    async with chat(client) as pilot:
        assert notices(pilot) == ["· 4,096 tokens fit"]
        client.load_events = (replace(OTHER, notices=("2,048 tokens fit",)),)
        await command(pilot, f"/model {other}")
        assert notices(pilot)[-1] == "· 2,048 tokens fit"


async def test_what_cannot_be_loaded_leaves_the_pair_that_was_there(tmp_path: Path) -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await command(pilot, "/k 9")
        await command(pilot, "/model nobody/nothing")
        assert "there is no model nobody/nothing on this machine" in notices(pilot)[-1]
        client.loads = [(TaskFailed("broken.gguf is no GGUF file: download it again"),)]
        await command(pilot, f"/model {tmp_path / 'broken.gguf'}")
        assert "broken.gguf is no GGUF file" in notices(pilot)[-1]
        assert "builtin-guide 18M ⇠ builtin-draft 2M" in header(pilot)
        assert client.loaded[-1] == client.loaded[0]
        assert "k 9" in header(pilot)
        await ask(pilot, "Who?")
        assert shown(pilot) == ["Who?", " one"]


async def test_where_nothing_could_be_loaded_another_model_can(tmp_path: Path) -> None:
    client = ScriptedClient(loads=[(TaskFailed("guide.gguf is cut short: download it again"),)])
    async with chat(client) as pilot:
        assert "no model" in header(pilot)
        await command(pilot, f"/model {tmp_path / 'other.gguf'}")
        assert "active" in header(pilot)
        assert client.loaded[-1] == (tmp_path / "other.gguf", None)
