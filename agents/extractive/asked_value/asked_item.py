"""Which item of a list is asked for, and how it reads with what leads into the list."""

from __future__ import annotations

from dataclasses import dataclass

from agents.extractive.asked_value.value_kinds import fits, kinds_asked, kinds_of
from agents.extractive.relevance import Aspect
from enrichment.chunk import Chunk
from enrichment.language.words import stems


@dataclass(frozen=True, kw_only=True)
class AskedItem:
    """One item of a list of several, told from the others by words of the question."""

    index: int
    """Of the item, in the chunk's units."""
    lead_in: str
    """The sentence or item that the list hangs on; '' when none does."""
    item: str
    left_over: frozenset[str]
    """Naming stems of the question that neither item, lead-in, title nor headings hold."""
    kind_held: bool | None
    """Whether it holds every kind of value asked for; None when the question doesn't tell."""
    ahead: float
    """How much more of what tells the items apart it holds than the next one, 0–1."""


def asked_item(chunk: Chunk, index: int, aspect: Aspect) -> AskedItem | None:
    """The item asked for of the list that this unit is of: None when the question's words tell no
    single item from the others, or when this is no list of several."""
    units = chunk.units
    start = end = index
    while start > 0 and units[start - 1].kind == "item":
        start -= 1
    while end < len(units) and units[end].kind == "item":
        end += 1
    if units[index].kind != "item" or end - start < 2:
        return None
    before = units[start - 1].text.strip() if start else ""
    lead_in = before if before.endswith((":", "：")) else ""
    named = {at: frozenset(aspect.named_in(stems(units[at].text))) for at in range(start, end)}
    in_all = frozenset.intersection(*named.values())
    weights = {
        at: sum(aspect.weights[word] for word in words - in_all) for at, words in named.items()
    }
    best, second = sorted(weights, key=lambda at: -weights[at])[:2]
    if weights[best] <= weights[second]:
        return None
    item = units[best].text
    kinds = kinds_asked(aspect.text)
    held = [fits(asked.kind, kinds_of(item)) for asked in kinds]
    asking = frozenset(w for one, fit in zip(kinds, held, strict=True) if fit for w in one.words)
    around = " ".join((lead_in, chunk.document_title, chunk.tab, *chunk.heading_path))
    accounted = named[best] | aspect.named_in(stems(around)) | asking
    return AskedItem(
        index=best,
        lead_in=lead_in,
        item=item,
        left_over=frozenset(aspect.weights) - accounted,
        kind_held=all(held) if kinds else None,
        ahead=1 - weights[second] / weights[best],
    )


def item_in_words(asked: AskedItem) -> str:
    """`**lead-in** item`: an item alone can mean the opposite (`You must not:`)."""
    return f"**{asked.lead_in}** {asked.item}" if asked.lead_in else asked.item
