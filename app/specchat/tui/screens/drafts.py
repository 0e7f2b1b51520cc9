"""The draft picker: the models on this machine that could draft for a target, with what speaks for and against each.

F6 times those that fit, one after the other, and sorts the list by the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.worker import get_current_worker

from specchat.errors import SpecchatError
from specchat.models.candidates import DraftCandidate, ranked, worth_timing
from specchat.models.last_pairs import DraftTiming
from specchat.terminal.filter import clean_line
from specchat.tui.draft_timer import DraftTimer, TimingStep
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.listing import Listing
from specchat.tui.widgets.model_rows import candidate_row, verdict_lines
from specchat_engine.errors import EngineError

Judge = Callable[[], Iterator[DraftCandidate]]
_MOST = 500
_HINT = "name, cost of a draft step relative to the target, added memory; F6 times them here"
_MEASURED = "plain, measured"


@dataclass(frozen=True, slots=True)
class PickedDraft:
    """The chosen draft model; None for a target without one."""

    draft: Path | None


class DraftsScreen(ModalScreen[PickedDraft | None]):
    """A list over the chat. Its result is the choice; None if nothing was chosen."""

    CSS_PATH = "models.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "pick", "Load", priority=True, id="drafts.pick"),
        Binding("f6", "time", "Time them", priority=True, id="drafts.time"),
        Binding("escape,f8", "back", "Back", priority=True, id="drafts.back"),
    ]

    def __init__(self, target: str, judge: Judge, timer: DraftTimer, timed: Iterable[DraftTiming]) -> None:
        """`judge` reads headers and is called in a thread. `timed` are the drafts that were timed before."""
        super().__init__()
        self._target = target
        self._judge = judge
        self._timer = timer
        before = {Path(timing.draft).resolve(): timing for timing in timed}
        self._speedups = {path: timing.speedup for path, timing in before.items()}
        self._alphas = {path: timing.alphas for path, timing in before.items() if timing.alphas}
        self._steps: dict[Path, TimingStep] = {}
        self._waiting: list[Path] = []
        self._found: list[DraftCandidate] = []
        self._reading = True

    def compose(self) -> ComposeResult:
        """The list above the details of its chosen row."""
        with Vertical(id="panel") as panel:
            panel.border_title = Content(f"A draft for {clean_line(self._target)}")
            yield Static(Content(_HINT), classes="hint")
            yield Listing[DraftCandidate | None](self._row, id="list")
            with VerticalScroll(id="details", can_focus=False):
                yield Static(id="facts")
            yield Static("reading headers …", id="says")
            yield KeyRow()

    def on_mount(self) -> None:
        """Judge every model in a thread."""
        self.query_one(Listing).show([None])
        self.query_one(Listing).focus()
        self._read()

    def on_option_list_option_highlighted(self, message: OptionList.OptionHighlighted) -> None:
        """Show the details of the row."""
        message.stop()
        self._show_details()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Choose the row that was clicked."""
        message.stop()
        self.action_pick()

    def action_pick(self) -> None:
        """Choose the row, unless it cannot be loaded."""
        listing: Listing[DraftCandidate | None] = self.query_one(Listing)
        if self._reading:
            return  # the list may still change
        if self._waiting:
            self._say("drafts are being timed: Esc stops that")
            return
        chosen = listing.chosen
        if chosen is not None and not chosen.fits:
            self._say(f"{chosen.entry.name} cannot draft here: {chosen.reason}")
        else:
            self.dismiss(PickedDraft(None if chosen is None else chosen.entry.path))

    def action_back(self) -> None:
        """Stop the timing, or close the list."""
        if self._waiting:
            self._say("stopping …")
            self._timer.stop()
        else:
            self.dismiss(None)

    def action_time(self) -> None:
        """Time the drafts that fit, the most promising first."""
        chosen = [candidate.entry.path for candidate in worth_timing(self._found)]
        if self._waiting or self._reading:
            return
        if self._timer.busy():
            self._say("an answer is running: time drafts when it has ended")
        elif not chosen:
            self._say("no draft here fits and is smaller than the target")
        else:
            self._steps, self._waiting = {}, chosen
            self._time(self._timer.run(chosen))

    @work(thread=True, exclusive=True, group="time")
    def _time(self, steps: Iterator[TimingStep]) -> None:
        for step in steps:
            self.call_later(self._hear, step)
        self.call_later(self._end_timing)

    def _hear(self, step: TimingStep) -> None:
        self._steps[step.draft] = step
        if step.gain is not None:
            self._speedups[step.draft.resolve()] = step.gain.speedup.value
        if self.is_attached:
            name = next(candidate.entry.name for candidate in self._found if candidate.entry.path == step.draft)
            number = f"{self._waiting.index(step.draft) + 1} of {len(self._waiting)}"
            self._say(f"timing {name}, {number}; the chat's models are unloaded meanwhile · Esc stops")
            self.query_one(Listing).show([*self.query_one(Listing).items])
            self._show_details()

    def _end_timing(self) -> None:
        drafts, self._waiting = self._waiting, []
        ended = {path: step for path, step in self._steps.items() if step.ended}
        self._steps = ended
        if not self.is_attached:
            return
        self._show(self._found, "")
        gains = {path: step.gain for path, step in ended.items() if step.gain is not None}
        stopped = f"stopped after {len(ended)} of {len(drafts)}: " if len(ended) < len(drafts) else ""
        best = max(gains, key=lambda path: gains[path].speedup.value, default=None)
        if best is None or gains[best].speedup.value <= 1:
            self._say(f"{stopped}no draft is faster than plain decoding here; prompt lookup needs no draft")
            return
        name = next(candidate.entry.name for candidate in self._found if candidate.entry.path == best)
        chance = "" if gains[best].speedup.is_gain else ", which may be noise,"
        self._say(f"{stopped}{name} is fastest{chance} and is now this target's draft: Enter loads it")

    @work(thread=True, exclusive=True, group="judge")
    def _read(self) -> None:
        worker = get_current_worker()
        candidates: list[DraftCandidate] = []
        trouble = ""
        try:
            for candidate in self._judge():
                if worker.is_cancelled:
                    return
                candidates.append(candidate)
                if len(candidates) == _MOST:
                    break
        except (SpecchatError, EngineError) as error:
            trouble = str(error)
        self.call_later(self._show, candidates, trouble)

    def _show(self, candidates: list[DraftCandidate], trouble: str) -> None:
        if not self.is_attached or not self.query(Listing):
            return  # a row was chosen before the last header was read
        gaining = sorted(
            (path for path, gain in self._speedups.items() if gain > 1), key=lambda path: -self._speedups[path]
        )
        self._found, self._reading = ranked(candidates, gaining), False
        listing: Listing[DraftCandidate | None] = self.query_one(Listing)
        best = next((index for index, candidate in enumerate(self._found) if candidate.fits), None)
        fitting = [candidate for candidate in self._found if candidate.fits]
        others = [candidate for candidate in self._found if not candidate.fits]
        listing.show([*fitting, None, *others], 0 if best is not None else None)
        self._say(trouble or ("" if fitting else "no model on this machine can draft for it: F8 finds others"))
        self.query_one("#panel").border_subtitle = f"{len(fitting)} of {len(self._found)} fit"

    def _row(self, candidate: DraftCandidate | None, width: int) -> Content:
        if candidate is None:
            return Content("– no draft model").pad_right(max(width - 16, 0))
        timed = bool(self._waiting or self._speedups)
        return candidate_row(candidate, width, self._measured(candidate), 22 if timed else 8)

    def _measured(self, candidate: DraftCandidate) -> str:
        """The progress or result of timing a draft; empty if it was not timed."""
        path = candidate.entry.path
        step, speedup = self._steps.get(path), self._speedups.get(path.resolve())
        if path in self._waiting and (step is None or not step.ended):
            return "waiting" if step is None else f"timing {100 * step.share:.0f} %"
        if step is not None and step.trouble:
            return "not timed"
        return "" if speedup is None else f"{speedup:.2f} × {_MEASURED}"

    def _show_details(self) -> None:
        chosen = self.query_one(Listing).chosen
        if chosen is None:
            text = Content("The target answers alone, or with prompt lookup, which needs no draft model.")
        else:
            step = self._steps.get(chosen.entry.path)
            alphas = self._alphas.get(chosen.entry.path.resolve(), {})
            notes = (_result(step), _by_kind(alphas), chosen.problem)
            lines = [Content(clean_line(line)) for line in notes if line]
            text = Content("\n").join([*lines, *([verdict_lines(chosen.verdict)] if chosen.verdict else [])])
        self.query_one("#facts", Static).update(text)

    def _say(self, text: str) -> None:
        self.query_one("#says", Static).update(Content(clean_line(text)))


def _by_kind(alphas: Mapping[str, float]) -> str:
    """The acceptance by kind of text; empty if it was not measured."""
    return "α by kind: " + " · ".join(f"{kind} {alpha:.2f}" for kind, alpha in alphas.items()) if alphas else ""


def _result(step: TimingStep | None) -> str:
    """The result of timing a draft in one line."""
    if step is None or not step.ended:
        return ""
    if step.gain is None:
        return f"It was not timed: {step.trouble}"
    alpha = "" if step.gain.alpha is None else f", α {step.gain.alpha:.2f}"
    return f"Measured: {step.gain.words}{alpha}"
