"""vi's keys, an edited answer, and two conversations side by side, in a real terminal with the real engine."""

from __future__ import annotations

import re
from collections.abc import Callable

from e2e.terminal import Terminal
from e2e.test_chat import DRAFTING, STATISTICS, ready

Specchat = Callable[..., Terminal]

GIVEN = "A lamp is a small sun"


def test_vi_keys_write_a_question_an_answer_is_edited_and_two_conversations_take_turns(specchat: Specchat) -> None:
    terminal = specchat("chat", "--vi", *DRAFTING, width=140, height=40)
    ready(terminal)
    terminal.wait_for("─ insert ─")
    terminal.keys("-l", "Why is a draft modle usefull?")
    terminal.keys("Escape")
    terminal.wait_for("─ normal ─")
    terminal.keys("-l", "0wwwdwdw")
    terminal.wait_for(r"› Why is a usefull\?")
    terminal.keys("-l", "uu")
    terminal.wait_for(r"› Why is a draft modle usefull\?")
    terminal.keys("C-r")
    terminal.wait_for(r"› Why is a modle usefull\?")
    terminal.keys("-l", "ccWhat is a draft model?")
    terminal.wait_for(r"─ insert ─.*\n › What is a draft model\?")
    terminal.keys("Enter")
    terminal.wait_for(STATISTICS)
    terminal.keys("Escape")
    terminal.wait_for("─ normal ─")
    terminal.keys("-l", "i")

    terminal.type(f"/edit answer {GIVEN}")
    terminal.wait_for(rf"‹2/2›(.*\n)? +{GIVEN}")
    terminal.wait_for(STATISTICS)
    terminal.keys("Tab")
    terminal.wait_for(r"e Edit")
    terminal.keys("e")
    terminal.wait_for("the model goes on from the end of this text")
    terminal.wait_for(f"› {GIVEN}")
    terminal.keys("-l", " and more")
    terminal.keys("Enter")
    terminal.wait_for(r"‹3/3›")
    terminal.wait_for(STATISTICS)

    terminal.keys("C-n")
    terminal.wait_for("Ask something, or try")
    terminal.type("What is alpha?")
    terminal.wait_for(STATISTICS)
    terminal.type("/beside")
    terminal.wait_for(r"● What is alpha\? .*○ What is a draft model\?")
    terminal.keys("F10")
    terminal.wait_for(r"○ What is alpha\? .*● What is a draft model\?")
    terminal.type("What is tau?")
    terminal.wait_until(lambda shown: bool(re.search(r"│.*▌ What is tau\?", shown)), "the question in the right pane")
    terminal.wait_until(lambda shown: len(re.findall("tok/s", shown)) >= 3, "its answer")
    terminal.resize(100, 30)
    terminal.wait_for(r"● What is a draft model\?", absent=r"What is alpha\?")
