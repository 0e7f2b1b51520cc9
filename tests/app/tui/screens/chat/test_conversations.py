from app.tui.chatting import answers, ask, chat, questions, quiet
from app.tui.scripted_client import ScriptedClient, chat_options
from specchat.chat.archive import session_to_resume
from specchat.settings.paths import sessions_db
from specchat.tui.app import SpecchatApp


async def test_a_session_goes_on_in_another_start_with_its_settings() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot)
        await pilot.press(*"/k 3", "enter")
        await quiet(pilot)
    client = ScriptedClient()
    app = SpecchatApp(chat_options(), client, resume=session_to_resume("last", sessions_db()))
    async with app.run_test(size=(140, 40)) as pilot:
        await quiet(pilot)
        assert [entry.raw for entry in questions(pilot)] == ["Hi"]
        assert len(answers(pilot)) == 1
        await ask(pilot, "more")
        assert [message.content for message in client.asked[-1]] == ["Hi", " Hello there world", "more"]
        assert client.settings[-1].k == 3
