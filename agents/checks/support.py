"""Checks by words alone whether the cited sources support a claim, and says why not."""

from __future__ import annotations

import re
from dataclasses import replace

from agents.checks.cells import cell_fault
from agents.checks.claims import Claim, source_label
from agents.checks.figures import figure_fault
from agents.checks.names import name_fault
from agents.checks.statements import AskerTerms, CitedText, plain_figures, with_synonyms
from enrichment.language.foreign_words import language_of
from enrichment.language.quantities import quantities, without_quantities
from enrichment.language.words import naming_words, stem

_MANY = 3
"""Missing words that are too many, even if the sources have as many others."""
_WINDOW = 4
"""Statements that one claim may combine."""
_FRAGMENT = re.compile(r"[\s*_]*(?:yes|no|not)\b", re.IGNORECASE)
"""A verdict on the question, such as `Not double.`, may negate the question's words."""


def fault_of(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """Why the sources do not support the claim; '' when the words show no fault."""
    claim = replace(claim, text=plain_figures(claim.text))
    numbers = figure_fault(claim, evidence, asker)
    if numbers or claim.kind == "code":
        return numbers
    return (
        name_fault(claim, evidence, asker)
        or cell_fault(claim, evidence, asker)
        or _coverage_fault(claim, evidence, asker)
    )


def _coverage_fault(claim: Claim, evidence: CitedText, asker: AskerTerms) -> str:
    """Fault of a claim whose words the sources lack. Only English is compared with English."""
    text = claim.text
    if {language_of(text) or asker.language, evidence.language} - {"", "English"}:
        return ""
    amounts = quantities(text)
    words = naming_words(without_quantities(text, amounts))
    naming = {word for word in words if not word.isdigit() and len(word) > 1}
    own = {word for word in naming if word in evidence.stems or word not in asker.words}
    if not own or (len(own) == 1 and _FRAGMENT.match(claim.text)):
        return ""
    covered = own & _window(frozenset(own), evidence, asker)
    missing_count = len(own - covered)
    if missing_count < len(covered) or (missing_count == len(covered) and missing_count < _MANY):
        return ""
    if any(one.measure or any(map(str.isdigit, one.text)) for one in amounts):
        return ""
    missing = [surface for word, surface in words.items() if word in own]
    absent = [word for word in missing if stem(word) not in evidence.stems][:4] or missing[:4]
    return f"{source_label(claim)} does not say this: {', '.join(absent)}"


def _window(own: frozenset[str], evidence: CitedText, asker: AskerTerms) -> frozenset[str]:
    """The words that a few statements together hold, in these or similar forms."""
    covered: set[str] = set(own & evidence.place)
    available = with_synonyms(evidence.stems, asker.same)
    for word in own - evidence.stems:
        is_similar = len(word) >= 5 and word[:5] in evidence.beginnings
        if is_similar or word in available:
            covered.add(word)
    remaining = own & evidence.stems
    for _ in range(_WINDOW):
        ranked = evidence.overlap(remaining)
        if not ranked:
            break
        best = max(ranked, key=lambda place: ranked[place])
        covered |= remaining & evidence.statements[best].stems
        remaining -= evidence.statements[best].stems
    return frozenset(covered)
