from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Region

from specchat.tui.widgets.lines import Lines


class Counted(Lines):
    """Remembers which rows were drawn again."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[int] = []

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Lines:
        if regions:
            self.drawn += [region.y for region in regions]
        super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        return self


class Stage(App[None]):
    CSS = "Counted { width: 20; height: 6; border: round red; }"

    def compose(self) -> ComposeResult:
        yield Counted()


async def test_only_rows_that_changed_are_drawn_again() -> None:
    same, old, new = (Content.from_markup(f"[bold]{text}[/] text") for text in ("same", "old", "new"))
    app = Stage()
    async with app.run_test(size=(30, 10)) as pilot:
        lines = app.query_one(Counted)
        for shown, drawn in (
            ([same, old, same], [0, 1, 2]),
            ([same, new, same], [1]),
            ([same], [1, 2]),
            ([Content.from_markup("[italic]same[/] text")], [0]),
        ):
            lines.drawn.clear()
            lines.show_lines(shown)
            await pilot.pause()
            assert lines.drawn == drawn
        assert lines.render_line(0).text.strip() == "same text"
        assert lines.render_line(1).text.strip() == ""
