"""A small collection of documents that no fit has seen, with questions, for the quality floor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from config.minilm import MiniLM
from config.settings import Settings
from enrichment.chunking.chunker import split
from enrichment.extractive.lifecycle import with_successors
from enrichment.pipeline import enrich
from index.publish import open_index
from index.search import Snapshot
from loaders.files.markdown import parse_markdown

NIGHT_RULES = """---
id: {id}
title: {title}
---
# {title}

## Weather

The roof is closed by hand as soon as the first drop falls. Nobody waits for the duty astronomer
to agree, because water on the mirror costs more than a lost night. Above 60 km/h of wind the
shutters stay down until it has been calm for 45 minutes.

## Light

Only red torches are carried on the terrace. White headlamps stay in the {room}. Cars park behind
the pine hedge and leave with their beams off. Phones are kept in a pocket between dusk and dawn.

## Visitors

Groups of more than 12 need a second guide. Children under 8 do not climb the iron stairs. Food
stays in the kitchen, drinks with a lid may be taken to the benches. Dogs wait at the gate house.
The last tour leaves at 23:30, and guests who came by bus are walked to the stop.
"""

LOANS = """---
id: lending
title: Lending of Equipment
---
# Lending of Equipment

## How long

| Item | Members | Schools |
|---|---|---|
| Eyepiece | 14 days | 30 days |
| Solar filter | 3 days | 10 days |
| Travel tripod | 21 days | 60 days |
| Star atlas | 28 days | 90 days |

## Damage

Scratched glass is reported to the workshop within 2 days. The workshop decides whether it can be
polished. A borrower pays at most 80 crowns, the society carries the rest.

## Who lends

The librarian hands out equipment on Tuesdays. On other days the keeper of the gate house does.
"""

DOMES = """---
id: domes
title: Care of the Domes
---
# Care of the Domes

## Motors

A dome motor that stalls is switched off for 20 minutes before anybody tries again. The electrician
on duty repairs it, and nobody else opens the casing. Bearings get graphite twice a year.

## Humidity

Dehumidifiers run from October to April. When the hygrometer shows more than 85 percent, the
correctors are capped and the night is over.
"""

OLD_LOANS = """---
id: lending-2019
title: Lending of Equipment 2019
status: superseded
---
# Lending of Equipment 2019

This page is superseded by Lending of Equipment.

## How long

| Item | Members | Schools |
|---|---|---|
| Eyepiece | 7 days | 7 days |
| Solar filter | 1 day | 1 day |
"""


def telescopes(count: int = 70) -> str:
    """A register whose entries differ by their code and two figures."""
    entries = (
        f"## T-{100 + number}\n\nThe telescope T-{100 + number} has a mirror of "
        f"{20 + 3 * number} cm and stands on pier {500 + 7 * number}."
        for number in range(count)
    )
    head = "---\nid: register\ntitle: Register of Telescopes\n---\n# Register of Telescopes\n\n"
    return head + "\n\n".join(entries)


DOCUMENTS = (
    NIGHT_RULES.format(id="night-rules", title="Night Rules", room="cloakroom"),
    NIGHT_RULES.format(id="night-rules-copy", title="Night Rules", room="wardrobe"),
    LOANS,
    OLD_LOANS,
    DOMES,
    telescopes(),
)


@dataclass(frozen=True)
class Expected:
    """A question, what its answer must say, and where that stands; no facts: not answerable."""

    question: str
    facts: tuple[str, ...] = ()
    documents: frozenset[str] = frozenset()


def _expected(question: str, *facts: str, document: str) -> Expected:
    return Expected(question, facts, frozenset(document.split()))


NIGHT = "night-rules night-rules-copy"
QUESTIONS = (
    _expected("it rains, do I wait for the astronomer to close the roof?", "drop", document=NIGHT),
    _expected("may I bring my dogs and food to the visitors' tour", "gate house", document=NIGHT),
    _expected("can we take our phones out at night?", "in a pocket", document=NIGHT),
    _expected("where do we park our cars at night", "pine hedge", document=NIGHT),
    _expected("how many visitors can one guide take as a group", "12", document=NIGHT),
    _expected("how long can a member keep a solar filter?", "3 days", document="lending"),
    _expected("how long can a school borrow an eyepiece?", "30 days", document="lending"),
    _expected("star atlas for members?", "28 days", document="lending"),
    _expected("what do I have to pay when I scratch a lens", "80 crowns", document="lending"),
    _expected("the motor of the dome is stuck, what now?", "20 minutes", document="domes"),
    _expected("at what humidity do we stop?", "85 percent", document="domes"),
    _expected("how big is the mirror of T-131?", "113 cm", document="register"),
    _expected("which pier is T-164 on?", "pier 948", document="register"),
    _expected("T-107 mirror?", "41 cm", document="register"),
    _expected("mirror size and pier of T-149", "167 cm", "pier 843", document="register"),
    _expected(
        "how long may a school keep a tripod? and which pier is T-120 on?",
        *("60 days", "pier 640"),
        document="lending register",
    ),
    _expected(
        "how big is the mirror of T-155? who repairs the motor of a dome?",
        *("185 cm", "electrician"),
        document="register domes",
    ),
    _expected(
        "what wind keeps the shutters down? and how big is the mirror of T-128?",
        *("60 km/h", "104 cm"),
        document=f"register {NIGHT}",
    ),
    _expected(
        "when do the dehumidifiers run? and how long does a member keep a star atlas?",
        *("October", "28 days"),
        document="lending domes",
    ),
    _expected(
        "what does a borrower pay for damage? and on which pier is T-142?",
        *("80 crowns", "pier 794"),
        document="lending register",
    ),
    Expected("what is the salary of the treasurer?"),
    Expected("how do I reset my password?"),
    Expected("when is the next general assembly of the shareholders?"),
)


@contextmanager
def observatory(folder: Path) -> Iterator[Snapshot]:
    """The documents, published with the real model and the real index."""
    embedder = MiniLM()
    index = open_index(Settings(_env_file=None, data_dir=folder), embedder)
    documents = [parse_markdown(text, url="https://docs.example/d/") for text in DOCUMENTS]
    enriched = [enrich(one, split(one, count_tokens=embedder.count_tokens)) for one in documents]
    cards = with_successors(one.card for one in enriched)
    with index.stage("observatory") as staging:
        for card, one in zip(cards, enriched, strict=True):
            staging.put(card, one.chunks)
        staging.commit({})
    try:
        yield index.snapshot("observatory")
    finally:
        index.close()
