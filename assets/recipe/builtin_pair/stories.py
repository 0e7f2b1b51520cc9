"""Very short stories in simple English. The prompt gives who, what and where; the rest is random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from builtin_pair.chats import Chat, HeldOut, Turn
from builtin_pair.sections import capitalised, choose_words, fill_slots, read_sections, say

WORDS = "story_words.txt"
PLOTS = "story_plots.txt"


@dataclass(frozen=True, slots=True)
class Story:
    """What happens in a story, to whom, where and with what.

    `plot` is a section of the plots, which also gives the words for the request. `ending` is the name of an ending.
    """

    plot: str
    hero: str
    name: str
    is_girl: bool
    item: str
    place: str
    helper: str
    ending: str

    def slots(self) -> dict[str, str]:
        """The values of the slots of plots and requests."""
        return {
            "hero": self.hero,
            "a_hero": with_article(self.hero),
            "name": self.name,
            "object": self.item,
            "an_object": with_article(self.item),
            "place": self.place,
            "place_first": capitalised(self.place),
            "helper": self.helper,
            "a_helper": with_article(self.helper),
            "A_helper": capitalised(with_article(self.helper)),
            "she": "she" if self.is_girl else "he",
            "She": "She" if self.is_girl else "He",
            "her": "her" if self.is_girl else "his",
            "him": "her" if self.is_girl else "him",
        }


def chats(random: Random) -> Iterator[Chat]:
    """Endless requests for stories, every tenth with a second story."""
    while True:
        turns = [_turn(random, "ask")]
        if random.random() < 0.1:
            turns.append(_turn(random, "then"))
        yield Chat("story", tuple(turns))


def requests(random: Random) -> Iterator[str]:
    """Endless requests in more wordings than the chats have, to be told from other messages."""
    while True:
        yield _turn(random, "ask_otherwise").user


def held_out(random: Random) -> list[HeldOut]:
    """Requests in hand-written wordings with new heroes and objects, each with one possible story."""
    words = read_sections(WORDS)
    found = []
    for hero in words["held_out_hero"]:
        for wording in words["held_out_ask"]:
            item, place = random.choice(words["held_out_object"]), random.choice(words["held_out_place"])
            story = _random_story(random, hero=hero, item=item, place=place)
            subject = f"{fill_slots('{a_hero} {place}', story.slots())} {fill_slots(story.plot, story.slots())}"
            found.append(HeldOut("story", fill_slots(wording, {"subject": subject}), tell(story, random, subject)))
    return found


def tell(story: Story, random: Random, subject: str = "") -> str:
    """The story in one paragraph: each sentence of its plot in one of several wordings, then the ending.

    If the requested subject names the place or the object, so does the story.
    """
    endings = dict(entry.split("=", 1) for entry in read_sections(WORDS)["ending"])
    sentences = [*read_sections(PLOTS)[story.plot], endings[story.ending]]
    asked = [detail for detail in (story.name, story.place, story.item, story.helper) if detail in subject]
    while True:
        text = " ".join(say(sentence, random, story.slots()) for sentence in sentences)
        if all(detail in text or capitalised(detail) in text for detail in asked):
            return text


def with_article(noun: str) -> str:
    """The noun after `a` or `an`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _turn(random: Random, section: str) -> Turn:
    words = read_sections(WORDS)
    story = _random_story(random)
    if section == "ask" and random.random() < 0.06:
        section = "ask_nothing"
    wording = choose_words(random.choice(words[section]), random)
    subject = _subject(story, random)
    asked = fill_slots(wording, {"subject": subject, "short": random.choice(words["short"])})
    end = "" if asked.endswith(("?", ".")) else random.choice(("", ".", "."))
    return Turn((capitalised(asked) if random.random() < 0.85 else asked) + end, tell(story, random, subject))


def _random_story(random: Random, hero: str = "", item: str = "", place: str = "") -> Story:
    words = read_sections(WORDS)
    helper = random.choice(words["helper"])
    hero = hero or random.choice([name for name in words["hero"] if name not in helper])
    is_girl = hero not in words["always_boy"] and (hero in words["always_girl"] or random.random() < 0.5)
    return Story(
        plot=random.choice(list(read_sections(PLOTS))),
        hero=hero,
        name=random.choice(words["girl" if is_girl else "boy"]),
        is_girl=is_girl,
        item=item or random.choice(words["object"]),
        place=place or random.choice(words["place"]),
        helper=helper,
        ending=random.choice([entry.split("=", 1)[0] for entry in words["ending"]]),
    )


def _subject(story: Story, random: Random) -> str:
    """The subject of the story, with a random number of details."""
    parts = ["{a_hero} (named|called) {name}" if random.random() < 0.35 else "{a_hero}"]
    if random.random() < 0.15:
        parts.append("and {a_helper}")
    if random.random() < 0.45:
        parts.append("{place}")
    plot = story.plot if random.random() < 0.6 else ""
    if "{an_object}" not in plot and random.random() < 0.4:
        parts.append("(and|with) {an_object}")
    parts.append(plot)
    if random.random() < 0.15:
        parts.append(f"with {with_article(story.ending)} ending")
    return say(" ".join(parts), random, story.slots())
