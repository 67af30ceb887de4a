"""Groundedness: how much of an answer its cited sources hold up, and what it is worth.

Whether passages entail a claim, by a cross-encoder, where one is configured.

What an answer takes from pictures that a model described: figures that nobody wrote as text."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from types import MappingProxyType
from typing import Any, Literal

from agents.checks.claims import Claim, claims_of
from agents.checks.entailment import FromAsker, asked_for, fault_of
from agents.checks.statements import CitedText
from agents.context.sources import Source
from agents.state import Draft
from enrichment.language.quantities import figures
from enrichment.language.words import naming_words, stems, tokens

logger = logging.getLogger(__name__)

Entails = Callable[[Sequence[tuple[str, str]]], Sequence[float] | None]
"""(passage, claim) pairs → probability of each that the passage entails the claim, 0–1; None when
that can't be told now."""


class EntailmentModel:
    """A model for natural language inference, by name or local folder. Loads on first use."""

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
            found = model.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0][:200]
            logger.warning(
                "answers are checked by words alone: ONCALL_ENTAILMENT_MODEL %r can't be used "
                "(install the `rerank` extra, give a model's name or folder): %s",
                self.name,
                reason,
            )
            return None
        return [float(row[label]) for row in found]


def _load(name: str) -> tuple[Any, int]:
    """The model, and which of its labels says that the claim follows."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(name, device="cpu")
    labels = {str(label).lower(): place for place, label in model.config.id2label.items()}
    for said, place in labels.items():
        if said.startswith("entail"):
            return model, int(place)
    raise ValueError(f"none of its labels is entailment: {', '.join(labels)}")


Tier = Literal["fine", "note", "strict"]
FINE, NOTE = 0.8, 0.6
_LONGEST_QUOTE = 400
_ENTAILED = 0.5
"""Probability from which on a passage says what is claimed."""
_MISSING = ("the figure", "the quantity", "the name", "no source", "it cites")
"""How the reasons begin that say what is nowhere in the sources."""


@dataclass(frozen=True, kw_only=True)
class CheckedClaim:
    claim: Claim
    held: bool
    reason: str = ""
    """Why it isn't held, in plain words."""


@dataclass(frozen=True, kw_only=True)
class Groundedness:
    claims: tuple[CheckedClaim, ...]

    @property
    def score(self) -> float:
        """Share of claims that are cited and held up, 0–1; 1 when nothing is claimed."""
        if not self.claims:
            return 1.0
        return sum(checked.held for checked in self.claims) / len(self.claims)

    @property
    def unsupported(self) -> tuple[str, ...]:
        """What is claimed and not held, without its numbers."""
        return tuple(one.claim.text for one in self.claims if not one.held)

    @property
    def untraceable(self) -> tuple[str, ...]:
        """Those of them whose figures, names or sources are missing: what the check knows for
        sure. That something is said the other way round it often only fails to follow."""
        return tuple(
            one.claim.text
            for one in self.claims
            if not one.held and one.reason.startswith(_MISSING)
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """One line for each claim that isn't held."""
        return tuple(f"“{one.claim.text}”: {one.reason}" for one in self.claims if not one.held)


def groundedness(
    text: str,
    sources: Sequence[Source],
    *,
    asked: str = "",
    glossary: Mapping[str, Sequence[str]] = MappingProxyType({}),
    entails: Entails | None = None,
    marks: Sequence[str] = (),
) -> Groundedness:
    """Each claim of an answer against the sources it cites; `[n]` is `sources[n - 1]`, of which
    `marks[n - 1]` tells from when it is and what became of it.

    `asked`: the question, whose words an answer may use. With `entails` a model decides what
    words alone don't: a figure or a name that stands nowhere stays one that stands nowhere."""
    known = asked_for(asked, glossary)
    answer = frozenset(token.casefold() for token in tokens(text))
    kept: dict[tuple[int, ...], CitedText] = {}
    checked: list[CheckedClaim] = []
    for claim in claims_of(text):
        reason = _reason(claim, sources, marks, kept, known, answer)
        checked.append(CheckedClaim(claim=claim, held=not reason, reason=reason))
    if entails:
        checked = _by_model(checked, sources, entails)
    return Groundedness(claims=tuple(checked))


def _by_model(
    checked: Sequence[CheckedClaim], sources: Sequence[Source], entails: Entails
) -> list[CheckedClaim]:
    """As the words say where a figure or name is missing or nothing is cited; the rest as some
    passage of the cited sources entails it or not."""
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
    found = entails([pair for _, pair in pairs])
    if found is None:
        return list(checked)
    best: dict[int, float] = {}
    for (claim, _), probability in zip(pairs, found, strict=True):
        best[id(claim)] = max(probability, best.get(id(claim), 0.0))
    return [
        CheckedClaim(
            claim=one.claim,
            held=best[id(one)] >= _ENTAILED,
            reason="" if best[id(one)] >= _ENTAILED else one.reason or "its source doesn't say so",
        )
        if id(one) in best
        else one
        for one in checked
    ]


def tier_of(score: float) -> Tier:
    return "fine" if score >= FINE else "note" if score >= NOTE else "strict"


def supporting_words(text: str, number: int, source: Source) -> str:
    """What `[number]` of an answer rests on, verbatim: for each claim that cites it the sentence
    or row of the source that shares most with it, in reading order, gaps marked."""
    units = [unit for chunk in source.chunks for unit in chunk.units]
    if not units:
        return source.text[:_LONGEST_QUOTE]
    held = [stems(unit.index_text) | stems(unit.text) for unit in units]
    # What every row of a table says tells none of them apart.
    spread = Counter(word for words in held for word in words)
    best: dict[int, None] = {}
    for claim in claims_of(text):
        if number in claim.numbers:
            said = " ".join((claim.text, *(cell for pair in claim.cells for cell in pair)))
            wanted = naming_words(said).keys()
            shared = [sum(1 / spread[word] for word in wanted & words) for words in held]
            best.setdefault(max(range(len(units)), key=shared.__getitem__))
    quote = ""
    for place in sorted(best):
        if quote and len(quote) + len(units[place].text) > _LONGEST_QUOTE:
            break
        quote += (" … " if quote else "") + units[place].text
    return quote or units[0].text


def _reason(
    claim: Claim,
    sources: Sequence[Source],
    marks: Sequence[str],
    kept: dict[tuple[int, ...], CitedText],
    asked: FromAsker,
    answer: frozenset[str],
) -> str:
    """Why a claim isn't held; '' when it is."""
    if claim.kind == "absence":
        return ""
    known = tuple(number for number in claim.numbers if 1 <= number <= len(sources))
    if not known:
        return "it cites a source that doesn't exist" if claim.numbers else "no source is cited"
    if known not in kept:
        kept[known] = CitedText(known, sources, marks)
    return fault_of(claim, kept[known], asked, answer)


_MOST_NAMED = 6
SUREST = 0.8
"""Confidence of an answer with such a figure, at most: set by hand, below what is told as high.
The checks hold it against the description, and nobody holds that against the picture."""
_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f](?=\d{3}(?!\d))")
"""Labels of charts part them by a space."""


def only_in_pictures(text: str, sources: Sequence[Source]) -> tuple[tuple[str, int], ...]:
    """(figure, number of the source) of figures that an answer cites from a description, and that
    no passage of its sources holds; `[n]` is `sources[n - 1]`."""
    written = frozenset[str]().union(
        *(_figures(source.text) for source in sources if not source.from_picture)
    )
    found: dict[tuple[str, int], None] = {}
    for claim in claims_of(text):
        said = _figures(" ".join((claim.text, *(cell for _, cell in claim.cells)))) - written
        for number in claim.numbers:
            if 1 <= number <= len(sources) and sources[number - 1].from_picture:
                held = sorted(said & _figures(sources[number - 1].text))
                found.update(dict.fromkeys((figure, number) for figure in held))
    return tuple(found)


def _figures(text: str) -> frozenset[str]:
    return figures(_THOUSANDS.sub("", text))


def with_pictured_marked(draft: Draft) -> Draft:
    """The answer with a line that names what to look up in the picture; it is not told as sure."""
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
    cited = "".join(f"[{number}]" for number in pictured)
    found = only_in_pictures(draft.text, draft.sources)[:_MOST_NAMED]
    said = f"From a model's description of a picture {cited}."
    confidence = draft.confidence
    if found:
        confidence = min(confidence, SUREST)
        of = {number: [one for one, its in found if its == number] for _, number in found}
        several = len(pictured) > 1
        named = ", ".join(
            f"{', '.join(ones)} [{number}]" if several else ", ".join(ones)
            for number, ones in of.items()
        )
        said += f" Look there before you act: {named} {'stand' if found[1:] else 'stands'} "
        said += "nowhere else."
    return replace(draft, text=f"{draft.text}\n\n_{said}_", confidence=confidence)
