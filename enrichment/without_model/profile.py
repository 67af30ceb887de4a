"""What kind of document this is: its type, and how technical it is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from enrichment.language.words import prose_words
from enrichment.without_model.entities import entities
from loaders.document import Document

DocumentType = Literal[
    "policy",
    "standard",
    "runbook",
    "register",
    "guide",
    "procedure",
    "catalogue",
    "schedule",
    "other",
]
_TITLE_WORDS = {
    "policy": r"polic(?:y|ies)|rules?|terms",
    "standard": r"standards?|requirements?|baselines?|controls?|limits?|specification|matrix",
    "runbook": r"runbooks?|playbooks?|troubleshooting|failover|response plan",
    "register": r"registers?|inventory|directory|roster|list of",
    "guide": r"guides?|handbook|getting started|overview|introduction|how to|faq|best practices",
    "procedure": r"procedures?|process(?:es)?|reviews?|checks|checklist|workflow|lifecycle",
    "catalogue": r"catalogu?es?|index|mapping|reference|parameters|glossary",
    "schedule": r"schedules?|calendar|timetable|rota|roadmap",
}
_BODY_WORDS = {
    "policy": r"\b(?:must not|may not|is not allowed|are not allowed|exceptions?|approv\w+)\b",
    "standard": r"\b(?:shall|must|required|minimum|maximum|requirement)\b",
    "runbook": r"\b(?:page|alert|restart|roll ?back|mitigat\w+|escalat\w+|dashboard|symptom)\b",
    "procedure": r"\b(?:submit|request|form|ticket|step|approval|then)\b",
    "guide": r"\b(?:you can|you may|we recommend|for example|tips?|should)\b",
    "schedule": r"\b(?:\d{4}-\d{2}-\d{2}|days|weeks|months|monday|friday)\b",
}
_MOST_CHARACTERS = 60_000


@dataclass(frozen=True, kw_only=True)
class Profile:
    document_type: str
    technical_density: float


def profile(document: Document) -> Profile:
    text = "\n".join(block.text for block in document.blocks)[:_MOST_CHARACTERS]
    return Profile(
        document_type=_type(document, text),
        technical_density=_density(document),
    )


def _type(document: Document, text: str) -> str:
    """The title decides by its last matching word (`Incident Response Plan Guide` is a guide)."""
    named = [
        (match.end(), kind)
        for kind, pattern in _TITLE_WORDS.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", document.title, re.I)
    ]
    if named:
        return max(named)[1]
    length = max(1, len(prose_words(text)))
    blocks = Counter(block.kind for block in document.blocks)
    rows = sum(len(block.table.rows) for block in document.blocks if block.table)
    if rows > 2 * (blocks["paragraph"] + blocks["list_item"]):
        return "register"
    rates = {
        kind: 100 * len(re.findall(pattern, text, re.I)) / length
        for kind, pattern in _BODY_WORDS.items()
    }
    best = max(rates, key=lambda kind: rates[kind])
    return best if rates[best] >= 1.0 else "other"


def _density(document: Document) -> float:
    """Share of codes, identifiers and commands among the words."""
    technical = total = 0
    for block in document.blocks:
        count = len(prose_words(block.text))
        total += count
        if block.kind == "code":
            technical += count
        else:
            found = entities(block.markdown or block.text)
            technical += sum(len(prose_words(e.value)) for e in found if e.kind == "code")
    return round(min(1.0, technical / total), 3) if total else 0.0
