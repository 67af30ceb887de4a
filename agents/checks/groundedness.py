"""Groundedness: the share of an answer's claims that its cited sources support.

Words decide, and a cross-encoder where one is configured. A separate notice names figures that
come only from a model's description of a picture."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal

from agents.checks.claims import Claim, claims_of
from agents.checks.statements import CitedText, asker_terms
from agents.checks.support import fault_of
from agents.context.sources import Source
from agents.state import Draft
from enrichment.language.quantities import figures
from enrichment.language.words import naming_words, stems

logger = logging.getLogger(__name__)

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[float] | None]
"""(passage, claim) pairs → probability that the passage entails the claim, 0–1 each; None when the
model is unavailable."""


class EntailmentModel:
    """A natural language inference model, by name or local folder. It loads on first use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loaded: tuple[Any, int] | None = None
        self._loading = Lock()

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        if not pairs:
            return []
        try:
            with self._loading:
                if self._loaded is None:
                    self._loaded = _load(self.name)
            model, label = self._loaded
            scores = model.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0][:200]
            logger.warning(
                "answers are checked by words alone: ONCALL_ENTAILMENT_MODEL %r can't be used "
                "(install the `rerank` extra, give a model's name or folder): %s",
                self.name,
                reason,
            )
            return None
        return [float(row[label]) for row in scores]


def _load(name: str) -> tuple[Any, int]:
    """(model, index of its entailment label). Raises ValueError without such a label."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(name, device="cpu")
    labels = {str(label).lower(): place for place, label in model.config.id2label.items()}
    for label_name, place in labels.items():
        if label_name.startswith("entail"):
            return model, int(place)
    raise ValueError(f"none of its labels is entailment: {', '.join(labels)}")


Tier = Literal["fine", "note", "strict"]
FINE, NOTE = 0.8, 0.6
_MAX_QUOTE_CHARS = 400
_MAX_QUOTED = 3
"""Sentences or rows that one claim is quoted from."""
_ENTAILED = 0.5
"""Minimum probability for a passage to support a claim."""
_MISSING = ("the figure", "the quantity", "the name", "no source", "it cites")
"""Prefixes of the reasons for missing figures, names and sources."""


@dataclass(frozen=True, kw_only=True)
class CheckedClaim:
    claim: Claim
    supported: bool
    reason: str = ""
    """Why it is not supported; '' if it is."""


@dataclass(frozen=True, kw_only=True)
class Groundedness:
    claims: tuple[CheckedClaim, ...]

    @property
    def score(self) -> float:
        """Share of claims that are cited and supported, 0–1; 1 without claims."""
        if not self.claims:
            return 1.0
        return sum(checked.supported for checked in self.claims) / len(self.claims)

    @property
    def unsupported(self) -> tuple[CheckedClaim, ...]:
        return tuple(one for one in self.claims if not one.supported)

    @property
    def untraceable(self) -> tuple[str, ...]:
        """Texts of unsupported claims with missing figures, names or sources. These faults are
        certain; for a reversed statement the check is often wrong."""
        return tuple(o.claim.text for o in self.unsupported if o.reason.startswith(_MISSING))

    @property
    def reasons(self) -> tuple[str, ...]:
        """One line per unsupported claim."""
        return tuple(f"“{one.claim.text}”: {one.reason}" for one in self.unsupported)


def groundedness(
    text: str,
    sources: Sequence[Source],
    *,
    question: str = "",
    glossary: Mapping[str, Sequence[str]] = MappingProxyType({}),
    entails: Entails | None = None,
    marks: Sequence[str] = (),
    today: str | date = "",
) -> Groundedness:
    """Checks each claim of an answer against the sources it cites; `[n]` is `sources[n - 1]`, and
    `marks[n - 1]` states that source's date and validity.

    `question`: an answer may use its words. `today`: the day of the question, from which an answer
    may count. With `entails` a model decides the claims that words alone do not; a missing figure
    or name stays a fault."""
    asker = asker_terms(question, glossary, today)
    cited_text = cache(lambda numbers: CitedText(numbers, sources, marks))

    def fault(claim: Claim) -> str:
        if claim.kind == "absence":
            return ""
        numbers = tuple(number for number in claim.numbers if 1 <= number <= len(sources))
        if not numbers:
            return "it cites a source that doesn't exist" if claim.numbers else "no source is cited"
        return fault_of(claim, cited_text(numbers), asker)

    reasons = [(claim, fault(claim)) for claim in claims_of(text)]
    checked = [CheckedClaim(claim=one, supported=not why, reason=why) for one, why in reasons]
    if entails:
        checked = _by_model(checked, sources, entails)
    return Groundedness(claims=tuple(checked))


def _by_model(
    checked: Sequence[CheckedClaim], sources: Sequence[Source], entails: Entails
) -> list[CheckedClaim]:
    """Keeps faults of missing figures, names and citations. Any other claim is supported if a
    passage of its cited sources entails it."""
    open_ones = [
        one
        for one in checked
        if one.claim.kind == "statement" and not one.reason.startswith(_MISSING)
    ]
    pairs = [
        (claim, (f"{source.place}\n{chunk.text}", claim.claim.text))
        for claim in open_ones
        for source in (sources[n - 1] for n in claim.claim.numbers if 1 <= n <= len(sources))
        for chunk in source.chunks
    ]
    probabilities = entails([pair for _, pair in pairs])
    if probabilities is None:
        return list(checked)
    best: dict[int, float] = {}
    for (claim, _), probability in zip(pairs, probabilities, strict=True):
        best[id(claim)] = max(probability, best.get(id(claim), 0.0))
    return [
        CheckedClaim(
            claim=one.claim,
            supported=best[id(one)] >= _ENTAILED,
            reason="" if best[id(one)] >= _ENTAILED else one.reason or "its source doesn't say so",
        )
        if id(one) in best
        else one
        for one in checked
    ]


def tier_of(score: float) -> Tier:
    return "fine" if score >= FINE else "note" if score >= NOTE else "strict"


def supporting_words(text: str, number: int, source: Source) -> str:
    """The quote behind `[number]`: for each claim that cites it, the sentence or row of the source
    that shares most with it, and those with figures that it lacks, verbatim, in reading order, gaps
    marked."""
    units = [unit for chunk in source.chunks for unit in chunk.units]
    if not units:
        return source.text[:_MAX_QUOTE_CHARS]
    unit_words = [stems(unit.index_text) | stems(unit.text) | _figures(unit.text) for unit in units]
    # Words of every row of a table do not distinguish its rows.
    spread = Counter(word for words in unit_words for word in words)
    best: dict[int, None] = {}
    for claim in claims_of(text):
        if number in claim.numbers:
            claim_text = " ".join((claim.text, *(cell for pair in claim.cells for cell in pair)))
            missing = _figures(claim_text) & spread.keys()
            sought = frozenset(naming_words(claim_text)) | missing
            for _ in range(_MAX_QUOTED):
                shared = [sum(1 / spread[word] for word in sought & one) for one in unit_words]
                place = max(range(len(units)), key=shared.__getitem__)
                best.setdefault(place)
                # A reader looks for the value: where it stands elsewhere, that is quoted, too.
                sought = missing = missing - unit_words[place]
                if not missing:
                    break
    quote = ""
    for place in sorted(best):
        if quote and len(quote) + len(units[place].text) > _MAX_QUOTE_CHARS:
            break
        quote += (" … " if quote else "") + units[place].text
    return quote or units[0].text


_MAX_FIGURES = 6
MAX_PICTURE_CONFIDENCE = 0.8
"""Maximum confidence of an answer with such a figure, set by hand below the level *high*: the
checks compare the figure with the description, and nothing compares that with the picture."""
_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""Labels of charts use a space as thousands separator."""


def only_in_pictures(text: str, sources: Sequence[Source]) -> tuple[tuple[str, int], ...]:
    """(figure, source number) of figures that an answer cites from a description of a picture and
    that no text of its sources holds; `[n]` is `sources[n - 1]`."""
    text_figures = frozenset[str]().union(
        *(_figures(source.text) for source in sources if not source.from_picture)
    )
    pictured: dict[tuple[str, int], None] = {}
    for claim in claims_of(text):
        claim_figures = (
            _figures(" ".join((claim.text, *(cell for _, cell in claim.cells)))) - text_figures
        )
        for number in claim.numbers:
            if 1 <= number <= len(sources) and sources[number - 1].from_picture:
                matching = sorted(claim_figures & _figures(sources[number - 1].text))
                pictured.update(dict.fromkeys((figure, number) for figure in matching))
    return tuple(pictured)


def _figures(text: str) -> frozenset[str]:
    return figures(_THOUSANDS.sub("", text))


def with_picture_notice(draft: Draft) -> Draft:
    """The answer with a line that names the figures to verify in the picture, and a lower
    confidence."""
    if not any(source.from_picture for source in draft.sources):
        return draft
    cites = {number for claim in claims_of(draft.text) for number in claim.numbers}
    pictured = [
        number
        for number, source in enumerate(draft.sources, start=1)
        if source.from_picture and number in cites
    ]
    if not pictured:
        return draft
    citations = "".join(f"[{number}]" for number in pictured)
    lone = only_in_pictures(draft.text, draft.sources)[:_MAX_FIGURES]
    notice = f"From a model's description of a picture {citations}."
    confidence = draft.confidence
    if lone:
        confidence = min(confidence, MAX_PICTURE_CONFIDENCE)
        of = {number: [one for one, its in lone if its == number] for _, number in lone}
        several = len(pictured) > 1
        to_verify = ", ".join(
            f"{', '.join(ones)} [{number}]" if several else ", ".join(ones)
            for number, ones in of.items()
        )
        notice += f" Look there before you act: {to_verify} {'stand' if lone[1:] else 'stands'} "
        notice += "nowhere else."
    return replace(draft, text=f"{draft.text}\n\n_{notice}_", confidence=confidence)
