"""Random text to be copied or edited: words, names, identifiers, numbers, sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from uuid import UUID

from builtin_pair.sections import Sections, capitalised

_SYLLABLE_STARTS = (
    "b", "bl", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p",
    "pl", "qu", "r", "s", "sh", "st", "t", "tr", "v", "w", "y", "z",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "oo", "ou")
_SYLLABLE_ENDS = ("", "", "", "n", "r", "l", "s", "t", "m", "x", "ck", "nd", "rt")


@dataclass(frozen=True, slots=True)
class Material:
    """Makes pieces of text from the word lists `words` and the generator `random`.

    `hardness` in [0, 1] scales the length of texts and the share of random identifiers. `length` multiplies the largest
    length. `natural` is the probability of a meaningful text, a story or a piece of the standard library, where one is
    suitable.
    """

    random: Random
    words: Sections
    hardness: float = 1.0
    length: float = 1.0
    natural: float = 0.0

    def pick(self, section: str) -> str:
        """A word of that section of the word lists."""
        return self.random.choice(self.words[section])

    def count(self, low: int, high: int) -> int:
        """A count from `low` to at most `high`, which is reached only at hardness 1 and length 1."""
        return self.random.randint(low, low + round((high - low) * self.hardness * self.length))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def makes_sense(self) -> bool:
        """Whether the next text should be meaningful. Draws no random number if none ever is."""
        return self.natural > 0 and self.chance(self.natural)

    def distinct(self, make: Callable[[], str], count: int) -> list[str]:
        """`count` pieces made by `make`, all different, ignoring case."""
        found: dict[str, str] = {}
        while len(found) < count:
            piece = make()
            found.setdefault(piece.lower(), piece)
        return list(found.values())

    def pseudo_word(self) -> str:
        """A pronounceable invented word."""
        choice = self.random.choice
        syllables = self.random.choice((1, 2, 2, 3))
        return "".join(choice(_SYLLABLE_STARTS) + choice(_VOWELS) for _ in range(syllables)) + choice(_SYLLABLE_ENDS)

    def stem(self) -> str:
        """A word for use in an identifier."""
        return self.pseudo_word() if self.chance(0.35 * self.hardness) else self.pick("stem")

    def variable(self) -> str:
        """The name of a variable: one to three words in snake_case, sometimes numbered."""
        size = self.random.choice((1, 1, 2, 2, 3)) if self.hardness > 0.3 else 1
        name = "_".join(self.stem() for _ in range(size))
        return f"{name}{self.random.randint(1, 99)}" if self.chance(0.15) else name

    def function_name(self) -> str:
        """The name of a function in snake_case: a verb and its object."""
        return f"{self.pick('action')}_{self.stem()}" + (f"_{self.stem()}" if self.chance(0.3) else "")

    def camel_case(self) -> str:
        """An identifier such as `loadUserTable`."""
        return self.pick("action") + "".join(self.stem().capitalize() for _ in range(self.random.choice((1, 2))))

    def class_name(self) -> str:
        """An identifier such as `TableIndex`."""
        return "".join(self.stem().capitalize() for _ in range(self.random.choice((1, 2, 2))))

    def constant(self) -> str:
        """An identifier such as `MAX_QUEUE`."""
        return "_".join(self.stem().upper() for _ in range(self.random.choice((1, 2))))

    def hexadecimal(self) -> str:
        """Four to twelve hexadecimal digits, sometimes with `0x` before them."""
        digits = "".join(self.random.choices("0123456789abcdef", k=self.random.choice((4, 6, 8, 8, 12))))
        return f"0x{digits}" if self.chance(0.3) else digits

    def uuid(self) -> str:
        """A random UUID in its usual form."""
        return str(UUID(int=self.random.getrandbits(128)))

    def code(self) -> str:
        """A ticket or order code: `KT-4821`, `b7x2`, `Q93F`."""
        letters = "".join(self.random.choices("ABCDEFGHJKLMNPQRSTUVWXYZ", k=self.random.randint(1, 3)))
        digits = str(self.random.randint(1, 9999))
        return self.random.choice(
            (f"{letters}-{digits}", f"{letters}{digits}", f"#{digits}", (letters + digits).lower())
        )

    def integer(self) -> str:
        """A number of one to six digits."""
        return str(self.random.randint(0, 10 ** self.random.choice((1, 2, 2, 3, 3, 4, 6)) - 1))

    def decimal(self) -> str:
        """A number with one to three decimal places."""
        return f"{self.random.uniform(0, 10 ** self.random.choice((0, 1, 2, 3))):.{self.random.randint(1, 3)}f}"

    def date(self) -> str:
        """A date of this century, in ISO form."""
        pick = self.random.randint
        return f"{pick(2000, 2039)}-{pick(1, 12):02}-{pick(1, 28):02}"

    def clock(self) -> str:
        """A time of day with seconds."""
        pick = self.random.randint
        return f"{pick(0, 23):02}:{pick(0, 59):02}:{pick(0, 59):02}"

    def version(self) -> str:
        """A version number of three parts."""
        return ".".join(str(self.random.randint(0, 20)) for _ in range(3))

    def ip_address(self) -> str:
        """An IP address such as 10.3.77.201."""
        return ".".join(str(self.random.randint(0, 255)) for _ in range(4))

    def file_name(self) -> str:
        """A file name, sometimes with a folder before it."""
        name = self.random.choice((self.variable, self.pseudo_word, self.function_name))()
        folder = f"{self.pick('stem')}/" if self.chance(0.25) else ""
        return f"{folder}{name}.{self.pick('extension')}"

    def email(self) -> str:
        """An e-mail address."""
        first, last = self.pick("first").lower(), self.pick("last").lower()
        number = self.random.randint(1, 99)
        forms = (f"{first}.{last}", f"{first}{number}", f"{first[0]}{last}", f"{self.pseudo_word()}_{number}", last)
        domain = (
            self.pick("domain")
            if self.chance(0.6)
            else f"{self.pseudo_word()}.{self.random.choice(('com', 'org', 'net'))}"
        )
        return f"{self.random.choice(forms)}@{domain}"

    def full_name(self) -> str:
        """First and last name of a person."""
        return f"{self.pick('first')} {self.pick('last')}"

    def address(self) -> str:
        """A postal address on one line."""
        street = f"{capitalised(self.pick('noun'))} {self.random.choice(('Street', 'Road', 'Lane'))}"
        return f"{self.random.randint(1, 220)} {street}, {self.random.randint(10000, 99999)} {self.pick('city')}"

    def identifier(self) -> str:
        """An unpredictable string that has to be copied letter by letter."""
        makers = (
            self.variable, self.variable, self.function_name, self.camel_case, self.class_name, self.constant,
            self.hexadecimal, self.code, self.code, self.integer, self.integer, self.decimal, self.date, self.clock,
            self.version, self.ip_address, self.file_name, self.file_name, self.email, self.pseudo_word,
            self.pseudo_word, self.pseudo_word, self.uuid,
        )  # fmt: skip
        return self.random.choice(makers)()

    def word(self) -> str:
        """A common word, a name or a city."""
        section = self.random.choice(
            ("noun", "noun", "noun", "adjective", "adjective", "verb", "adverb", "first", "city")
        )
        return self.pick(section)

    def token(self) -> str:
        """A common word, or an identifier, more often at higher hardness."""
        return self.identifier() if self.chance(0.5 * self.hardness) else self.word()

    def phrase(self, low: int, high: int) -> str:
        """A meaningless sequence of `low` to `high` tokens."""
        return " ".join(self.token() for _ in range(self.count(low, high)))

    def thing(self) -> str:
        """A noun, mostly with an adjective, sometimes an identifier."""
        if self.chance(0.12 * self.hardness):
            return self.identifier()
        adjective = f"{self.pick('adjective')} " if self.chance(0.5) else ""
        return f"{adjective}{self.pseudo_word() if self.chance(0.1 * self.hardness) else self.pick('noun')}"

    def clause(self) -> str:
        """A main clause in the past tense, without capital and full stop."""
        person = self.full_name() if self.chance(0.2) else self.pick("first")
        subject = person if self.chance(0.4) else f"the {self.thing()}"
        if self.chance(0.35):
            predicate = f"{self.pick('went')} {self.pick('preposition')} the {self.thing()}"
        else:
            predicate = (
                f"{self.pick('verb')} {self.random.choice(('the', 'a', 'this', 'my', 'our', 'every'))} {self.thing()}"
            )
        return f"{subject} {predicate}" + (f" {self.pick('adverb')}" if self.chance(0.25) else "")

    def sentence(self) -> str:
        """A sentence from a grammar of clauses, numbers and reported speech."""
        form = self.random.random()
        if form < 0.55:
            body = self.clause()
        elif form < 0.7:
            body = f"{self.clause()} {self.pick('joiner')} {self.clause()}"
        elif form < 0.8:
            body = f"{self.pick('first')} paid {self.integer()} for the {self.thing()} in {self.pick('city')}"
        elif form < 0.9:
            body = f"on {self.date()} {self.clause()}"
        else:
            body = f"the {self.thing()} is {self.pick('adjective')} and {self.pick('adjective')}"
        return capitalised(body) + self.random.choice("......!?")

    def sentences(self, low: int, high: int) -> list[str]:
        """Between `low` and `high` different sentences."""
        return self.distinct(self.sentence, self.count(low, high))

    def prose(self) -> str:
        """A paragraph of one to eight sentences."""
        return " ".join(self.sentences(1, 8))
