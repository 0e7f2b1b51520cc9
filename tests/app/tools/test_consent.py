"""What the user allows."""

from dataclasses import replace

from specchat.tools.consent import Consent, ConsentAnswer
from specchat.tools.tool import Tool

TOOL, OTHER = Tool("now", server="time"), Tool("now", server="clock")


def test_each_call_needs_consent_until_the_tool_is_allowed_in_this_chat() -> None:
    consent = Consent()
    assert consent.needed(TOOL)
    assert consent.say(TOOL, ConsentAnswer.ONCE)
    assert consent.needed(TOOL)
    assert consent.say(TOOL, ConsentAnswer.ALWAYS)
    assert not consent.needed(TOOL)
    assert consent.needed(OTHER)
    assert Consent().needed(TOOL)


def test_no_allows_nothing() -> None:
    consent = Consent()
    assert not consent.say(TOOL, ConsentAnswer.NO)
    assert consent.needed(TOOL)


def test_a_tool_that_has_changed_needs_consent_again() -> None:
    consent = Consent()
    consent.say(TOOL, ConsentAnswer.ALWAYS)
    assert consent.needed(replace(TOOL, description="Sends mail."))
    assert consent.needed(replace(TOOL, schema={"type": "object", "properties": {"to": {}}}))
    assert not consent.needed(replace(TOOL))
