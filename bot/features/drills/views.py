"""What people read of drills. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate, takewhile

from agents.drill.checks import Finding
from agents.drill.rows import DrillRow
from bot.blocks.kit import link, short
from bot.feature import DigestPart
from bot.features.drills.store import DrillResult
from enrichment.chunk import DocumentCard

MAX_FINDINGS, MAX_TITLE_CHARS = 2, 500
MAX_REASON_CHARS = 1_100
"""A draft quotes little more."""


def note(results: Sequence[DrillResult], now: datetime) -> str:
    """One line below an alert's answer. `results`: of the entries that it is from, at least one.
    `now`: UTC, without a zone."""
    oldest = min(one.drilled_at for one in results)
    findings = list(dict.fromkeys(each.sentence for one in results for each in one.findings))
    what = "; ".join(findings[:MAX_FINDINGS]) or "fine"
    more = len(findings) - MAX_FINDINGS
    return f"Drilled {ago(now - oldest)}: {what}{f'; and {more} more' if more > 0 else ''}."


def ago(passed: timedelta) -> str:
    hours = round(passed / timedelta(hours=1))
    if hours < 1:
        return "within the hour"
    if hours < 20:
        return f"{hours} hour{'s' if hours > 1 else ''} ago"
    days = max(1, round(hours / 24))
    return "yesterday" if days == 1 else f"{days} days ago"


def reason(results: Sequence[DrillResult]) -> str:
    """What is wrong with a document's entries, for its owner; as much as a draft quotes."""
    texts = [
        f"• {short(one.title.partition(', ')[0], 80)}: {short(sentence_of(each), 320)}"
        for one in results for each in one.findings
    ]  # fmt: skip
    lines = list(dict.fromkeys(texts))
    sizes = accumulate(len(one) + 1 for one in lines)
    listed = lines[: sum(1 for _ in takewhile(lambda size: size <= MAX_REASON_CHARS, sizes))]
    more = len(lines) - len(listed)
    rest = [f"and {more} more: `oncall drill` lists them"] if more else []
    return "\n".join((*listed, *rest))


def title(row: DrillRow) -> str:
    """`Name, Title › Heading`, as `DrillResult.title`."""
    return f"{row.names[0]}, {row.entry.place}"[:MAX_TITLE_CHARS]


def sentence_of(finding: Finding) -> str:
    parts = "; ".join(filter(None, (finding.sentence, finding.detail)))
    return f"{parts}. {finding.remedy[:1].upper()}{finding.remedy[1:]}."


def digest_part(
    wrong: Sequence[DrillResult], drilled: int, cards: Sequence[DocumentCard]
) -> DigestPart:
    """`drilled`: number of all entries. `cards`: of documents that the reader may know of."""
    lines = [each.sentence for one in wrong for each in one.findings if not one.document]
    documents = by_document(wrong)
    if count := sum(map(len, documents.values())):
        entries = "entry" if drilled == 1 else "entries"
        need = "needs" if count == 1 else "need"
        lines.append(f"{count} of {drilled} {entries} {need} mending")
    lines += [f"{link(one.url, short(one.title, 120))}: {len(documents[one.id])}" for one in cards]
    return DigestPart(title="Runbooks", lines=lines)


def by_document(results: Sequence[DrillResult]) -> dict[str, list[DrillResult]]:
    """Document id → its results; without the one about the rota."""
    documents: dict[str, list[DrillResult]] = {}
    for one in results:
        if one.document:
            documents.setdefault(one.document, []).append(one)
    return documents
