"""One answer of the target. It streams in the colours of its tokens' outcomes and becomes Markdown when it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat.terminal.filter import clean_line
from specchat.terminal.pieces import Piece, shown
from specchat.terminal.word_wrap import Line, Wrapper, cells
from specchat.tui.transcript.body import SECTIONS, PartBody, View
from specchat.tui.transcript.entries import NO_SIBLINGS, Siblings, TranscriptEntry
from specchat.tui.transcript.markdown import MarkdownRows
from specchat.tui.transcript.parts import Parts, TokenCursor
from specchat_engine.decoding.rounds import Round

__all__ = ["TranscriptAnswer", "View"]

Trace = Sequence[Round] | Callable[[], Sequence[Round]]

_CURSOR = (Piece("▌", "$primary"),)


class TranscriptAnswer(TranscriptEntry):
    """An answer.

    While it is `live` it takes rounds; afterwards only its view changes. The screen knows it by its `key`.
    """

    can_be_selected = True

    def __init__(
        self, name: str, view: View = View.TRACE, *, key: object = None, siblings: Siblings = NO_SIBLINGS
    ) -> None:
        super().__init__()
        self.key = key
        self.siblings = siblings
        self.view = view
        self.live = True
        self.rounds: list[Round] = []
        self.cursor: TokenCursor | None = None
        self.figures = "reading the prompt…"
        self._speaker = clean_line(name)
        self._parts = Parts()
        self._bodies: list[PartBody] = []
        self._unfolded: set[int] = set()
        self._remarks: list[str] = []
        self._final: str | None = None
        self._given = ""
        self._unread: Callable[[], Sequence[Round]] | None = None
        self._chosen = False
        self._calls = False

    @classmethod
    def stored(
        cls,
        name: str,
        text: str,
        figures: str = "",
        *,
        trace: Trace = (),
        view: View = View.MARKDOWN,
        key: object = None,
        siblings: Siblings = NO_SIBLINGS,
        calls: bool = False,
    ) -> TranscriptAnswer:
        """A finished answer from its text; with `calls`, from the text beside them.

        `trace` holds its rounds, or is a function that reads them when they are needed.
        """
        answer = cls(name, view, key=key, siblings=siblings)
        answer.live, answer._calls = False, calls
        answer.figures, answer._final = clean_line(figures), text
        if callable(trace):
            answer._unread = trace
        answer._take_all([] if callable(trace) else trace)
        return answer

    @property
    def text(self) -> str:
        """The answer so far, as the screen shows it."""
        return self._parts.text if self._final is None else shown(self._final)

    @property
    def raw(self) -> str:
        """The answer so far, as the model wrote it."""
        texts = (event.text for event in self.rounds)
        return "".join((self._given, *texts)) if self._final is None else self._final

    @property
    def codes(self) -> Sequence[str]:
        """The code blocks of the answer, without those in thoughts."""
        texts = [part.text for part in self._parts.parts if not part.thought]
        return [code for text in texts for code in MarkdownRows(80, text).codes]

    def show_below(self, words: str) -> None:
        """Say something below the answer while it is live, in place of what stood there."""
        if words != self.figures:
            self.figures = words
            self.changed()

    def begin_with(self, text: str) -> None:
        """Set the text that the answer begins with and that no round brought."""
        self._given = text
        self._parts.take_text(shown(text))
        self.changed()

    def begin_inside(self, closing: str) -> None:
        """Begin inside a thought that the prompt opened and that ends with this mark."""
        self._parts, self._bodies = Parts(closing), []
        self.changed()

    def append(self, rounds: Sequence[Round]) -> None:
        """Add rounds at the end."""
        if not self.rounds:
            self.figures = ""
        self.rounds.extend(rounds)
        self._parts.take(rounds)
        self._draw_growth()

    def recount(self, rounds: Sequence[Round]) -> None:
        """Replace all rounds: a server reported at the end what it had drafted."""
        self.rounds, self._parts, self._bodies = list(rounds), Parts(), []
        if self._given:
            self._parts.take_text(shown(self._given))
        self._parts.take(rounds)
        self.changed()

    def finish(self, figures: str, text: str | None = None, *, calls: bool = False) -> None:
        """End the answer. `text` is the answer where a stop string cut it, or what it says beside its `calls`.

        The answer becomes Markdown, unless the user chose a view while it streamed. Calls are shown in the other views.
        """
        self.live, self._calls = False, calls
        self.figures = clean_line(figures)
        self._parts.finish()
        self._unfold_lone_thought()
        if text is not None and (calls or shown(text) != self._parts.text):
            self._final = text
            self._cut()
        self.show(self.view if self._chosen else View.MARKDOWN)

    def cycle_view(self) -> View:
        """Show the next view and return it."""
        self._chosen = True
        self.show(self.view.following)
        return self.view

    def show(self, view: View) -> None:
        """Show the answer in this view."""
        if view is not View.MARKDOWN:
            self._read_trace()
        self.cursor = None
        self._use(view)
        self.changed()

    @property
    def has_thoughts(self) -> bool:
        """Whether the answer contains thoughts."""
        return any(part.thought for part in self._parts.parts)

    def mark(self, row: int) -> tuple[int, int] | None:
        """The characters of a row that belong to the marked token, as (begin, end); None where there are none."""
        location = self._parts.locate(self.cursor.index) if self.cursor is not None else None
        if location is None:
            return None
        number, begin, end = location
        above, text = self._text_section(number)
        if not above <= row < above + len(text):
            return None
        line = text[row - above]
        first, last = max(begin - line.start, 0), min(end - line.start, len(line.text))
        return (first, last) if first < last else None

    def remark(self, text: str) -> None:
        """Add a line below the figures."""
        self._remarks.append(clean_line(text))
        self.changed()

    def toggle_thought(self, number: int | None = None) -> bool:
        """Unfold or fold thought `number`, or all thoughts. Returns False where there is none."""
        chosen = {at for at, part in enumerate(self._parts.parts) if part.thought and number in (None, at)}
        self._unfolded = self._unfolded - chosen if chosen <= self._unfolded else self._unfolded | chosen
        self.changed()
        return bool(chosen)

    def start_cursor(self) -> TokenCursor | None:
        """Mark the last token, in the trace view. Returns None if the rounds are not known."""
        self._read_trace()
        if not self.rounds:
            return None
        self._use(View.TRACE)
        self._chosen = True
        self._unfolded.update(range(len(self._parts.parts)))
        self.cursor = TokenCursor(self.rounds)
        self.changed()
        return self.cursor

    def stop_cursor(self) -> None:
        """Remove the mark."""
        self.cursor = None
        self.changed()

    def marked_row(self) -> int | None:
        """The row where the marked token begins."""
        location = self._parts.locate(self.cursor.index) if self.cursor is not None else None
        if location is None:
            return None
        return self._text_section(location[0])[0] + self._bodies[location[0]].row_of(location[1])

    def suffix(self, row: int) -> Sequence[Piece]:
        """The cursor after the last row of text, while the answer is live."""
        return _CURSOR if self.live and row == len(self.rows(self._width)) - len(self._foot()) - 1 else ()

    def lay(self, width: int) -> None:
        """Drop the rows of the old width."""
        self._bodies = []

    def forget(self) -> None:
        """Drop the rows."""
        super().forget()
        self._bodies = []

    def sections(self) -> Sequence[list[Line]]:
        """The name; then for each part its fold, its text and a gap; then the lines below."""
        parts = self._parts.parts
        if any(body.stale for body in self._bodies):
            self._bodies = []
        for number in range(len(self._bodies), len(parts)):
            formulas = self.host is None or self.host.shows_formulas
            self._bodies.append(PartBody(parts[number], number, self.view, self._width, formulas=formulas))
        sections = [self._head()]
        codes = 0
        for number, body in enumerate(self._bodies):
            sections += body.sections(unfolded=number in self._unfolded, codes_above=codes)
            codes += body.num_codes
        if parts[-1].thought:
            sections[-1] = []  # the lines below have a gap of their own
        return [*sections, self._foot()]

    def _use(self, view: View) -> None:
        self.view, self._bodies = view, []
        if self._calls:
            self._take_all(self.rounds)

    def _text_section(self, number: int) -> tuple[int, list[Line]]:
        """The first row of a part's text, and all its rows."""
        sections = self.sections()
        at = SECTIONS * number + 2
        return sum(map(len, sections[:at])), sections[at]

    def _draw_growth(self) -> None:
        """Draw the new text, from the first row that may have changed."""
        known = len(self._bodies)
        above = sum(map(len, self.sections()[: SECTIONS * len(self._bodies) - 1]))
        same = known == len(self._bodies) and not self._bodies[-1].part.thought
        self.changed(above + self._bodies[-1].changed_from if same else 0)

    def _read_trace(self) -> None:
        if self._unread is not None:
            unread, self._unread = self._unread, None
            self._take_all(unread())

    def _take_all(self, rounds: Sequence[Round]) -> None:
        """Build the parts of a finished answer from its rounds or, if there are none, from its text."""
        self.rounds, self._parts, self._bodies = list(rounds), Parts(), []
        text = "".join(event.text for event in rounds)
        if self._final is not None and self._final.endswith(text):
            self._given = self._final.removesuffix(text)
        if self._given or not rounds:
            self._parts.take_text(shown(self._given) if rounds else self.text)
        self._parts.take(rounds)
        self._parts.finish()
        self._cut()
        self._unfold_lone_thought()

    def _unfold_lone_thought(self) -> None:
        """Show a thought that nothing follows: it is all there is to read."""
        if len(self._parts.parts) == 1 and not self._calls:
            self._unfolded.add(0)

    def _cut(self) -> None:
        """End the answer where its text ends. Tokens decoded after that stay in the trace, and so do calls."""
        if self._calls and self.rounds and self.view is not View.MARKDOWN:
            return
        if not self._parts.cut(self.text):
            self._parts = Parts()
            self._parts.take_text(self.text)
            self._parts.finish()

    def _head(self) -> list[Line]:
        name = Piece(self._speaker, "bold $text-secondary")
        siblings = [Piece(" ", ""), *self.siblings.pieces()] if self.siblings.several else []
        hint = "" if self.view is View.MARKDOWN and not self.live else f"   {self.view.value} · F3 view"
        if sum(cells(piece.text) for piece in (name, *siblings)) + cells(hint) > self._width:
            hint = hint.removesuffix(" · F3 view")
        return [Line([name, *siblings, Piece(hint, "$quiet")], ending="\n")]

    def _foot(self) -> list[Line]:
        texts = [(self.figures, "$quiet"), *((remark, "$text-accent") for remark in self._remarks)]
        lines = [Piece(text, style) for text, style in texts if text]
        if not lines:
            return []
        wrapper = Wrapper(self._width)
        if self._parts.parts[0].pieces and self._parts.parts[0].kept != 0:
            wrapper.write([Piece("\n", "")])
        for number, piece in enumerate(lines):
            wrapper.write([*([Piece("\n", "")] if number else []), piece])
        wrapper.lines[-1].ending = "\n"
        return wrapper.lines
