"""`oncall ask --explain` and `oncall explain`: the steps that led to an answer."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from agents.answer import Answer
from agents.plan import Trace
from cli.output.terminal import markdown_shown
from enrichment.chunk import DocumentCard, is_out_of_force
from index.search import Hit

_HITS = 12
_DROPPED = 5


def explain(answer: Answer, documents: Mapping[str, DocumentCard], console: Console) -> None:
    """Print the answer, then plan, sources, hits, omitted passages, context and timings."""
    trace = answer.trace or Trace()
    title = f"{answer.path} · confidence {answer.confidence:.2f}"
    console.print(Panel(markdown_shown(answer.text), title=title, title_align="left"))
    for heading, part in (
        ("Cited", _cited(answer)),
        ("Plan", _plan(trace)),
        ("Confidence", _confidence(answer)),
        ("Documents", _sources(trace, documents)),
        ("Hits", _hits(trace, answer)),
        ("Left out", _dropped(trace)),
        ("Context", _context(answer)),
        ("Timings", _timings(answer)),
        ("Notes", _notes(trace, answer)),
    ):
        if part is not None:
            console.rule(f"[bold]{heading}", align="left", style="dim")
            console.print(part)


def _cited(answer: Answer) -> RenderableType | None:
    if not answer.citations:
        return None
    table = Table(box=None, show_header=False, padding=(0, 1))
    for one in answer.citations:
        age = f"{one.modified_at:%Y-%m-%d}" if one.modified_at else ""
        table.add_row(f"\\[{one.number}]", f"{one.title} › {one.heading}", age, _cut(one.quote, 70))
    return table


def _plan(trace: Trace) -> RenderableType | None:
    plan = trace.plan
    if plan is None:
        return None
    table = Table(box=None, show_header=False, padding=(0, 1))
    for name, value in (
        ("question", plan.question),
        ("kind", plan.kind),
        ("leans on", plan.previous),
        ("parts", "\n".join(plan.sub_questions)),
        ("paraphrases", "\n".join(plan.paraphrases)),
        ("keywords", ", ".join(plan.keywords)),
        ("strategy", plan.strategy),
        ("reason", plan.reason),
    ):
        if value:
            table.add_row(f"[dim]{name}", escape(value))
    return table


def _confidence(answer: Answer) -> RenderableType | None:
    if not answer.confidence_parts:
        return None
    return " · ".join(f"{name} {value:.2f}" for name, value in answer.confidence_parts.items())


def _sources(trace: Trace, documents: Mapping[str, DocumentCard]) -> RenderableType | None:
    if not trace.sources.reasons:
        return None
    table = Table(box=None, show_header=False, padding=(0, 1))
    for document, reason in trace.sources.reasons.items():
        chosen = "●" if document in trace.sources.documents else "○"
        card = documents.get(document)
        style = "dim" if is_out_of_force(card) else ""
        table.add_row(chosen, escape(card.title if card else document), escape(reason), style=style)
    restricted = "searched in these first" if trace.sources.documents else "searched in all"
    table.add_row("", f"[dim]{restricted}", "")
    return table


def _hits(trace: Trace, answer: Answer) -> RenderableType | None:
    if not trace.hits:
        return None
    inside = {chunk.id for chunk in answer.context}
    cited = {one.chunk_id for one in answer.citations}
    table = Table(box=box.SIMPLE, padding=(0, 1))
    for name in ("", "passage", "fused", "cosine", "chunks", "units", "words"):
        numeric = name not in ("", "passage")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for hit in trace.hits[:_HITS]:
        mark = "★" if hit.chunk.id in cited else "·" if hit.chunk.id in inside else " "
        ranks = (str(hit.ranks.get(name, "")) for name in ("chunks", "units", "keywords"))
        table.add_row(mark, _place(hit), f"{hit.score:.4f}", f"{hit.similarity:.2f}", *ranks)
    table.caption = f"★ cited  · in the context  ({len(trace.hits)} hits)"
    return table


def _dropped(trace: Trace) -> RenderableType | None:
    if not trace.dropped:
        return None
    places = {hit.chunk.id: _place(hit) for hit in trace.hits}
    lines = [f"{places.get(chunk, chunk)}: {escape(why)}" for chunk, why in trace.dropped.items()]
    more = len(lines) - _DROPPED
    return "\n".join([*lines[:_DROPPED], *([f"[dim]… and {more} more"] if more > 0 else [])])


def _context(answer: Answer) -> RenderableType | None:
    if not answer.context:
        return None
    characters = sum(len(chunk.text) for chunk in answer.context)
    lines = [
        f"{number:>2}. {escape(chunk.place)} [dim]({len(chunk.text)} characters)"
        for number, chunk in enumerate(answer.context, start=1)
    ]
    return "\n".join([*lines, f"[dim]{characters} characters in all"])


def _timings(answer: Answer) -> RenderableType:
    spent = " · ".join(f"{name} {ms:.0f} ms" for name, ms in answer.timings_ms.items())
    usage = answer.usage
    tokens = usage.input_tokens + usage.output_tokens
    return f"{spent}\n{usage.calls} model calls, {tokens} tokens · generation {answer.generation}"


def _notes(trace: Trace, answer: Answer) -> RenderableType | None:
    degraded = (
        [f"went on without the model: {', '.join(answer.degraded)}"] if answer.degraded else []
    )
    return "\n".join(escape(note) for note in (*trace.notes, *degraded)) or None


def _place(hit: Hit) -> str:
    return escape(_cut(hit.chunk.place, 60)) + (" [dim](outside)" if hit.escaped else "")


def _cut(text: str, length: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"
