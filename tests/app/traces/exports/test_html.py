from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from hypothesis import given, settings

from specchat.store.images import keep_image
from specchat.traces.exports.document import Document
from specchat.traces.exports.html import html
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import TokenKind
from support.drawn_rounds import sample_round
from support.sample_traces import sample_trace, traces


class Page(HTMLParser):
    """The texts of a page's elements, and all its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kind = dict(attrs).get("type")
        self._open = f"{tag}.{kind}" if tag == "script" and kind else tag
        self.texts.setdefault(self._open, []).append("")
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open][-1] += data

    @property
    def data(self) -> dict[str, list[dict[str, object]]]:
        (data,) = self.texts["script.application/json"]
        found: dict[str, list[dict[str, object]]] = json.loads(data)
        return found


def about_images(trace: Trace, *names: str) -> Trace:
    """The same turn, about images."""
    message = {"role": "user", "content": "What is this?", "images": [*names]}
    return Trace(trace.start | {"messages": [message]}, trace.rounds, trace.end)


def test_the_page_shows_each_image_of_a_question_once_as_far_as_there_is_room() -> None:
    kept, large = (keep_image(data, b"", "photo.png", 2, 2).sha256 for data in (b"PNG 1", b"PNG 2, larger"))
    first, again = about_images(sample_trace(), kept, large, "ab" * 32), about_images(sample_trace(), kept)
    text = html(Document("Cats", (), (first, again)), room=6)
    assert [turn["images"] for turn in Page(text).data["turns"]] == [[kept, large, "ab" * 32], [kept]]
    (images,) = re.findall(r'"images":(\{.*?\})', text)
    assert json.loads(images) == {kept: f"data:image/png;base64,{b64encode(b'PNG 1').decode()}"}
    assert "img-src data:" in text


def page_of(*turns: Trace, title: str = "Cats") -> tuple[str, Page]:
    text = html(Document(title, (), turns))
    return text, Page(text)


def test_the_page_holds_every_turn_with_its_rounds_and_figures() -> None:
    first, second = sample_trace(), sample_trace(ended=False, question="And then?")
    _, page = page_of(first, second)
    one, two = page.data["turns"]
    assert (one["question"], two["question"]) == ("What is a round?", "And then?")
    assert one["pair"] == "specchat-guide 18M ⇠ specchat-draft 2M"
    assert (one["ending"], two["ending"]) == ("", "recording cut short")
    rounds = one["rounds"]
    assert isinstance(rounds, list)
    assert [event["word"] for event in rounds] == ["□", "●●●◇", "●○·◆", "●·"]
    kinds, words = ("accepted", "rejected", "discarded", "correction"), (" red", " hat", " and", " mat")
    assert rounds[2]["pieces"] == [[*piece] for piece in zip(kinds, words, strict=True)]
    assert [event["t"] for event in rounds] == [0.1, 0.2, 0.3, 0.4]


def test_the_policy_allows_this_style_and_this_script_and_no_network() -> None:
    text, page = page_of(sample_trace())
    policy = next(
        value or "" for name, value in page.attributes if name == "content" and "default-src" in (value or "")
    )
    for kind, directive in (("style", "style-src"), ("script", "script-src")):
        (inline,) = page.texts[kind]
        assert f"{directive} 'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", text)
    assert not any(name.startswith("on") or name == "style" for name, _ in page.attributes)


def test_a_branched_answer_begins_with_its_prefix_and_names_of_files_stay_at_home() -> None:
    text, page = page_of(sample_trace(prefix=[1], prefix_text="Once\n"))
    assert page.data["turns"][0]["given"] == [["plain", "Once\n"]]
    assert "/secret" not in text


def test_hostile_texts_do_not_leave_their_place() -> None:
    attack = "</script><script>alert(1)</script><!--\u2028\u2029 @@script@@ \x1b[2J\u202e"
    trace = sample_trace([sample_round([("r", attack)], (TokenKind.CORRECTION, attack))], question=attack)
    text, page = page_of(trace, title=attack.replace("\x1b", ""))
    assert len(page.texts["script"]) == len(page.texts["script.application/json"]) == 1
    assert text.count("<script") == 2
    assert "\u2028" not in page.texts["script.application/json"][0]
    (turn,) = page.data["turns"]
    assert str(turn["question"]).startswith("</script><script>alert(1)</script><!--")
    assert "@@script@@" in str(turn["question"])
    assert "\x1b" not in text
    assert "\u202e" not in page.texts["script.application/json"][0]


@settings(max_examples=40)
@given(traces())
def test_any_turn_makes_a_page_whose_data_can_be_read(trace: Trace) -> None:
    _, page = page_of(trace)
    (turn,) = page.data["turns"]
    rounds = turn["rounds"]
    assert isinstance(rounds, list)
    assert sum(event["emitted"] for event in rounds) == trace.stats_after(len(trace.rounds))["num_tokens"]
