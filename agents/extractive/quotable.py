"""Selects the statements that may be quoted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.extractive.language import asks_about_the_past
from agents.extractive.relevance import Aspect, ScoredUnit
from enrichment.chunk import CODE, QUOTE, Chunk, DocumentCard, Unit, is_out_of_force, unit_prefixes
from enrichment.language.words import naming_words
from enrichment.safety.injection import redacted
from enrichment.safety.withholding import WITHHELD

_MIN_WORDS = 2
"""A statement such as `Yes!` answers nothing by itself."""
_NEARLY, _LIKELY = 3.0, 2.0
"""Log-odds by which a document in force may be weaker than a superseded one, and log-odds that are
enough for it in any case: an outdated rule is wrong advice."""

_ABOUT_THE_PAGE = re.compile(
    r"^\W*(?:(?:last|date) (?:modified|updated|reviewed|changed)|references?|see also"
    r"|version|status)\s*:|^\W*see (?:also |the )",
    re.IGNORECASE,
)
_CALLOUT = re.compile(
    r"\W*(?:note|tip|hint|info|important|warning|caution|attention|danger)\b", re.IGNORECASE
)
"""A quotation that begins so is the document's own advice."""
_ASKS_FOR_WORDING = re.compile(
    r"\b(?:wording|words|text|template|example|sample|snippet|quot(?:e|ed|ation)|says?|said"
    r"|sentence|message|phrase)s?\b",
    re.IGNORECASE,
)


def quotable(
    scored: Sequence[ScoredUnit],
    context: Sequence[Chunk],
    whole: Aspect,
    documents: Mapping[str, DocumentCard],
) -> list[ScoredUnit]:
    """Statements of the context that tell a reader something, best first. Superseded documents are
    left out where one in force answers, quotations where nobody asks for the wording."""
    visible = {chunk.id for chunk in context}
    usable = [unit for unit in scored if unit.chunk.id in visible and _says_something(unit)]
    if not _ASKS_FOR_WORDING.search(whole.text):
        usable = [unit for unit in usable if not _is_quotation(unit)]
    if not usable or asks_about_the_past(whole.text):
        return usable
    current = [u for u in usable if not is_out_of_force(documents.get(u.chunk.document_id))]
    enough = min(usable[0].strength - _NEARLY, _LIKELY)
    return current if current and current[0].strength > enough else usable


def is_lead_in(unit: Unit) -> bool:
    """Whether it is a sentence or item that ends in a colon."""
    return unit.kind != "row" and unit.text.rstrip().endswith((":", "："))


def is_code(scored: ScoredUnit) -> bool:
    """Whether it is a line of code."""
    return scored.chunk.kind == "code" or unit_prefixes(scored.chunk)[scored.index] == CODE


def _says_something(scored: ScoredUnit) -> bool:
    unit = scored.unit
    if unit.text.strip() == WITHHELD:
        return False
    clean = redacted(unit.text)  # what may address a model is no answer to a person
    if is_code(scored):  # `version: 3` says nothing alone, and the code is wrong without it
        return clean == unit.text
    if _ABOUT_THE_PAGE.search(unit.text):
        return False
    if unit.kind == "sentence" and unit.text.rstrip().endswith("?"):
        return False
    whole_list = (unit.kind == "item" or is_lead_in(unit)) and clean == unit.text
    return unit.row is not None or whole_list or len(naming_words(clean)) >= _MIN_WORDS


def _is_quotation(scored: ScoredUnit) -> bool:
    """Whether it stands in a quotation that is no callout: somebody else's words."""
    prefixes, first = unit_prefixes(scored.chunk), scored.index
    while first and prefixes[first] == prefixes[first - 1] == QUOTE:
        first -= 1
    return prefixes[first] == QUOTE and not _CALLOUT.match(scored.chunk.units[first].text)
