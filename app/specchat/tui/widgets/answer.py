"""One answer of the target: streamed in the ink of its outcomes, Markdown when it is finished, its figures below."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownStream

from specchat.terminal import clean
from specchat.tui.pieces import Inker, Piece
from specchat.tui.widgets.bare import BareVertical
from specchat.tui.widgets.trace import Trace
from specchat_engine.rounds import Round


class View(StrEnum):
    """How an answer is shown."""

    TRACE = "trace"
    COLOURED = "coloured"
    MARKDOWN = "markdown"

    @property
    def following(self) -> View:
        """The view after this one."""
        views = list(View)
        return views[(views.index(self) + 1) % len(views)]


class Answer(BareVertical):
    """Takes rounds while it is live; afterwards only its view changes."""

    def __init__(self, name: str, view: View = View.TRACE) -> None:
        super().__init__()
        self._speaker = name
        self._inker = Inker()
        self._trace = Trace()
        self._markdown: Markdown | None = None
        self._stream: MarkdownStream | None = None
        self._final_text: str | None = None
        self._begun = False
        self._chosen = False
        self.view = view
        self.live = True

    @property
    def text(self) -> str:
        """What was answered so far, as it is shown."""
        return self._trace.plain if self._final_text is None else self._final_text

    def compose(self) -> ComposeResult:
        """The model's name and the view, the text, the figures."""
        yield Static(classes="head")
        yield self._trace
        yield Static(classes="figures")

    async def on_mount(self) -> None:
        """Starts with a sign of life: the prompt is being read."""
        self.query_one(".figures", Static).update(Content("reading the prompt…"))
        await self._show(self.view)

    async def append(self, rounds: Sequence[Round]) -> None:
        """Adds rounds at the end."""
        if not self._begun:
            self._begun = True
            self.query_one(".figures", Static).update(Content(""))
        pieces: list[Piece] = [piece for event in rounds for piece in self._inker.pieces(event)]
        self._trace.append(pieces)
        if self._stream is not None:
            await self._stream.write("".join(piece.text for piece in pieces if piece.ink.emitted))

    async def finish(self, figures: str, text: str | None = None) -> None:
        """No more rounds will come; `text` is the answer where a stop string cut it.

        The answer becomes Markdown unless the user chose a view while it streamed.
        """
        self.live = False
        await self._stop_stream()
        self._trace.finish()
        if text is not None and clean(text) != self._trace.plain:
            self._final_text = clean(text)
            if self._markdown is not None:
                await self._markdown.update(self._final_text)
        self.query_one(".figures", Static).update(Content(figures))
        if not self._chosen:
            await self._show(View.MARKDOWN)
        else:
            self._draw_head()

    async def cycle_view(self) -> View:
        """The next view."""
        self._chosen = True
        await self._show(self.view.following)
        return self.view

    async def _show(self, view: View) -> None:
        self.view = view
        as_markdown = view is View.MARKDOWN
        if as_markdown and self._markdown is None:
            # Links are text of the model: opening one takes more than a stray click.
            self._markdown = Markdown(self.text, open_links=False)
            await self.mount(self._markdown, after=self._trace)
        if as_markdown and self.live and self._markdown is not None:
            await self._markdown.update(self.text)
            self._stream = Markdown.get_stream(self._markdown)
        else:
            await self._stop_stream()
        if self._markdown is not None:
            self._markdown.display = as_markdown
        self._trace.display = not as_markdown
        self._trace.show_thrown_away(view is View.TRACE)
        self._draw_head()

    async def _stop_stream(self) -> None:
        if self._stream is not None:
            await self._stream.stop()
            self._stream = None

    def _draw_head(self) -> None:
        shown = "" if self.view is View.MARKDOWN and not self.live else f"   {self.view.value} · F3 view"
        self.query_one(".head", Static).update(Content.assemble((self._speaker, "bold"), (shown, "$quiet")))
