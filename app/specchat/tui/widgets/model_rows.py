"""Models, pairs, repositories, files and downloads as rows of lists. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from specchat.models.candidates import DraftCandidate
from specchat.models.downloads import DownloadView
from specchat.models.hub import FoundRepository
from specchat.models.labels import format_duration, format_parameters, format_size
from specchat.models.library import LibraryModel
from specchat.models.model_files import HubFile, ModelFileGroup
from specchat.models.pull import PullState
from specchat.terminal.blocks import bar
from specchat.terminal.filter import clean_line
from specchat.tui.widgets.listing import row
from specchat_engine.pairing import Grade, PairFinding, PairVerdict

SIGNS = {Grade.OK: "✓", Grade.WARNING: "!", Grade.BLOCKER: "✗"}
STYLES = {Grade.OK: "$outcome-accepted", Grade.WARNING: "$outcome-correction", Grade.BLOCKER: "$text-error"}
_TOPIC = 17
_BAR = 10
_WIDE = 100


def entry_row(entry: LibraryModel, width: int, *, loaded: bool = False) -> Content:
    """A model on this machine, with the reason if it cannot be used."""
    if entry.problem:
        sign = Content.styled("✗ ", STYLES[Grade.BLOCKER])
        return row(width, sign, f"{entry.name} · {entry.problem}", (format_size(entry.size), 9), style="$quiet")
    sign = Content.styled("● " if loaded else "  ", STYLES[Grade.OK])
    names = f"{entry.name} ({', '.join(entry.aliases)})" if entry.aliases else entry.name
    source = entry.found.source.value
    parameters = format_parameters(entry.summary.parameters)
    return row(
        width,
        sign,
        names,
        (format_size(entry.size), 9),
        (entry.quantisation, 8),
        (parameters, 5),
        (source, 9),
        style="bold",
    )


def candidate_row(candidate: DraftCandidate, width: int, measured: str = "", room: int = 8) -> Content:
    """A possible draft model: its verdict, its cost compared with the target, its memory, and what is against it.

    `measured` replaces the cost, in `room` cells.
    """
    cost = candidate.verdict.cost if candidate.verdict else None
    share = "" if cost is None else f"{100 * cost:.1f} %"
    memory = f"+{format_size(candidate.memory)}" if candidate.memory else ""
    sign = Content.styled(f"{SIGNS[candidate.grade]} ", STYLES[candidate.grade])
    name = f"{candidate.entry.name} · {candidate.reason}" if candidate.grade is not Grade.OK else candidate.entry.name
    style = "$quiet" if not candidate.fits else ""
    columns = ((measured or share, room), (memory, 9), (candidate.entry.quantisation, 7))
    return row(width, sign, name, *columns[: 3 if candidate.fits else 0], style=style)


def repository_row(repository: FoundRepository, width: int) -> Content:
    """A repository of the hub."""
    gated = "gated" if repository.gated else ""
    downloads = f"{repository.downloads:,} ↓"
    return row(
        width,
        Content("  "),
        repository.id,
        (downloads, 13),
        (format_parameters(repository.parameters), 6),
        (repository.architecture, 10),
        (gated, 5),
        style="bold",
    )


def file_row(model: ModelFileGroup[HubFile], width: int, *, usual: bool, here: bool) -> Content:
    """One model of a repository, marked if it is the usual choice or on this machine."""
    parts = f"{len(model.files)} parts" if len(model.files) > 1 else ""
    what = "here" if here else "incomplete" if model.missing else "usual" if usual else ""
    sign = Content.styled("● " if here else "★ " if usual else "  ", STYLES[Grade.OK])
    columns = ((format_size(model.size), 9), (what, 10), (parts, 8))
    name = Content.assemble(sign, (f"{clean_line(model.quantisation) or '–':<9}", "bold"))
    return row(width, name, model.path, *columns)


def download_row(view: DownloadView, width: int) -> Content:
    """A download: progress, size, speed, remaining time; if it ended early, how to resume it."""
    progress = view.progress
    sign = Content.styled(f"{_SIGN[progress.state]} ", _STATE[progress.state])
    if view.resumable:
        return row(width, sign, view.name, (f"{ended_at(view)}: Enter resumes", 36), style="bold")
    how = f"{view.percent:3.0f} % of {format_size(progress.size)}"
    drawn = ((bar(view.percent / 100, _BAR), _BAR),) if width >= _WIDE else ()
    return row(width, sign, view.name, *drawn, (how, 17), (pace(view), 22), style="bold")


def pace(view: DownloadView) -> str:
    """The speed and the remaining time of a download, or its state."""
    progress = view.progress
    if progress.state is not PullState.RUNNING:
        return {PullState.DONE: "here"}.get(progress.state, progress.state.value)
    if not progress.rate:
        return "waiting"
    left = f", {format_duration(progress.left)} left" if progress.left is not None else ""
    return f"{format_size(progress.rate)}/s{left}"


def ended_at(view: DownloadView) -> str:
    """Where an incomplete download ended."""
    how = "failed" if view.progress.state is PullState.FAILED else "interrupted"
    return f"{how} at {view.percent:.0f} %"


def verdict_lines(verdict: PairVerdict) -> Content:
    """Every finding with its remedy, the most serious first."""
    order = [Grade.BLOCKER, Grade.WARNING, Grade.OK]
    return Content("\n").join(
        finding_line(line) for line in sorted(verdict.lines, key=lambda finding: order.index(finding.grade))
    )


def finding_line(line: PairFinding) -> Content:
    """One finding."""
    remedy = f" → {clean_line(line.remedy)}" if line.remedy else ""
    return Content.assemble(
        (f"{SIGNS[line.grade]} ", STYLES[line.grade]),
        (f"{clean_line(line.topic):<{_TOPIC}}", "$quiet"),
        clean_line(line.finding),
        (remedy, "" if line.grade is Grade.OK else STYLES[Grade.WARNING]),
    )


def facts(entry: LibraryModel) -> Content:
    """What is known about a model on this machine."""
    summary = entry.summary
    if entry.problem:
        return Content.styled(clean_line(entry.problem), STYLES[Grade.WARNING])
    parts: Iterable[str] = (
        summary.title,
        summary.architecture,
        f"{format_parameters(summary.parameters)} parameters" if summary.parameters else "",
        f"context {summary.context}" if summary.context else "",
        summary.tokenizer,
        "" if summary.has_template else "no chat template",
    )
    about = clean_line(" · ".join(part for part in parts if part))
    return Content.assemble(about, "\n", (clean_line(str(entry.path)), "$quiet"))


_SIGN = {
    PullState.RUNNING: "↓",
    PullState.PAUSED: "‖",
    PullState.DONE: "✓",
    PullState.FAILED: "✗",
    PullState.CANCELLED: "○",
}
_STATE = {
    PullState.RUNNING: "$outcome-accepted",
    PullState.PAUSED: "$quiet",
    PullState.DONE: "$outcome-accepted",
    PullState.FAILED: "$text-error",
    PullState.CANCELLED: "$quiet",
}


LOAD_KEY = "Ctrl+G"
_LINE_BAR = 12


def download_line(views: Sequence[DownloadView], width: int) -> Content:
    """The running download, else the one that ended last; empty for none. The least important part is cut."""
    active = [view for view in views if view.active]
    if active:
        return _active(active, width)
    if not views:
        return Content("")
    last, state = views[-1], views[-1].progress.state
    name = clean_line(last.name)
    if state is PullState.DONE:
        return _fitted(Content.assemble(("✓ ", "$outcome-accepted"), name), f" is here · {LOAD_KEY} loads it", width)
    if state is PullState.FAILED:
        why = Content.assemble(("✗ ", "$text-error"), f"{name}: {clean_line(last.progress.error)}")
        return _fitted(why, f" · {LOAD_KEY} resumes", width)
    others = sum(view.resumable for view in views[:-1])
    more = f" · {others} more" if others else ""
    stopped = Content.assemble(("○ ", "$quiet"), name)
    return _fitted(stopped, f" · {ended_at(last)} · {LOAD_KEY} resumes{more}", width)


def _active(active: Sequence[DownloadView], width: int) -> Content:
    """The running download, the first one of several, and the number of others."""
    first = next((view for view in active if view.progress.state is PullState.RUNNING), active[0])
    more = f" · {len(active) - 1} more" if len(active) > 1 else ""
    sign = "‖ " if first.progress.state is PullState.PAUSED else "↓ "
    drawn = f"{bar(first.percent / 100, _LINE_BAR)} " if width >= 60 else ""
    end = f"  {drawn}{first.percent:3.0f} % · {pace(first)}{more}"
    return _fitted(Content.assemble((sign, "$outcome-accepted"), clean_line(first.name)), end, width)


def _fitted(beginning: Content, end: str, width: int) -> Content:
    room = max(width - len(end), 8)
    if beginning.cell_length > room:
        beginning = beginning.truncate(room, ellipsis=True)
    return Content.assemble(beginning, (end, "$quiet")).truncate(width, ellipsis=True)
