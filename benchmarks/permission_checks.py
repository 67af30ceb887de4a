"""What it costs to ask who may read: for each question from what is known, and once from Drive.

    python -m benchmarks.permission_checks

Made up: 5,000 documents, each shared with a few of 200 groups and one person; an asker in 20 of the
groups. A question is a plan, three searches of 60 passages, and the cards of what was found."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from config.domain import Domain
from config.settings import Settings
from enrichment.chunk import Chunk, DocumentCard
from index.permissions.groups import CachedMembers, Groups, no_directory
from index.permissions.live import DomainAccess
from index.permissions.rules import Person, visible_to
from index.search import Hit, SearchQuery
from loaders.document import Permission
from loaders.google.permissions import open_readers
from playground.google_stand_in import GoogleStandIn, StoredFile

DOCUMENTS, GROUPS, IN_GROUPS = 5_000, 200, 20
QUESTIONS = 400
SEARCHES, PASSAGES = 3, 60
FIRST_CHECKS = 20
ASKER = Person(email="asker@example.com", slack_user="U0ASKER")
DOMAIN = Domain.model_validate(
    {
        "domain": "bench",
        "title": "Bench",
        "sources": {"google_drive": {"folders": ["top"]}},
        "access": {"audience": "asker"},
    }
)


@dataclass
class Instant:
    """A generation that finds at once: only the checks around it cost anything."""

    documents: Mapping[str, DocumentCard]
    hits: Sequence[Hit]
    domain: str = "bench"
    generation: int = 1
    language: str = ""

    def cards(self, documents: Iterable[str]) -> list[DocumentCard]:
        return [self.documents[document] for document in documents]

    def search(self, query: SearchQuery) -> list[Hit]:
        allowed = query.readable or frozenset()
        return [hit for hit in self.hits if hit.chunk.document_id in allowed][: query.limit]

    def chunks(self, document_id: str) -> Sequence[Chunk]:
        return ()

    def named(self, keys: object, *, mentions: bool = False) -> Mapping[str, tuple[str, ...]]:
        return {}

    def unit_similarities(self, question: str, chunk_ids: object) -> Mapping[str, Sequence[float]]:
        return {}

    def rarity(self, term: str, *, readable: frozenset[str] | None = None) -> float:
        return 0.0

    def is_unheard_of(self, term: str, *, readable: frozenset[str] | None = None) -> bool:
        return False


def main() -> None:
    """Print the table."""
    chance = random.Random(11)
    shared = {f"d{n}": _permissions(n, chance) for n in range(DOCUMENTS)}
    whole = Instant(_cards(shared), [_hit(n) for n in chance.sample(range(DOCUMENTS), 600)])
    groups = {f"g{n}@example.com": _members(n) for n in range(GROUPS)}
    known = DomainAccess(
        domains=lambda: {"bench": DOMAIN},
        snapshot=lambda name: whole,
        checker=lambda _: lambda ids: {one: shared[one] for one in ids},
    )
    directory = CachedMembers(lambda asked: {group: groups[group] for group in asked})
    people = Groups(
        shared_groups=known.groups, directory=directory, slack=CachedMembers(no_directory(""))
    )
    _question(known, people)
    print(f"{DOCUMENTS:,} documents, {GROUPS} groups            p50 ms   p95 ms  CPU p50")
    _row("checks of a question, from what is known", lambda: _question(known, people), QUESTIONS)
    with _drive(shared) as check:
        for count in (10, 50):
            some = [chance.sample(sorted(shared), count) for _ in range(FIRST_CHECKS)]
            asking = map(check, some)
            _row(f"{count} documents asked of the local Google", partial(next, asking), len(some))


def _question(access: DomainAccess, people: Groups) -> None:
    view = visible_to(access.snapshot("bench"), people(DOMAIN, ASKER))
    _ = len(view.documents)
    for _number in range(SEARCHES):
        for hit in view.search(SearchQuery(variants=("x",), limit=PASSAGES)):
            assert view.documents.get(hit.chunk.document_id)


def _row(name: str, act: Callable[[], object], times: int) -> None:
    """By the clock, and by the processor: on a busy machine only the latter says what it costs."""
    seconds, busy = [], []
    for _ in range(times):
        began, spent = time.perf_counter(), time.thread_time()
        act()
        seconds.append((time.perf_counter() - began) * 1000)
        busy.append((time.thread_time() - spent) * 1000)
    p95 = sorted(seconds)[int(times * 0.95)]
    print(f"{name:<42}{median(seconds):>8.2f}{p95:>9.2f}{median(busy):>9.2f}")


@contextmanager
def _drive(
    shared: Mapping[str, tuple[Permission, ...]],
) -> Iterator[Callable[[Sequence[str]], object]]:
    files = [
        StoredFile(id=name, name=name, permissions=tuple(_resource(each) for each in permissions))
        for name, permissions in shared.items()
    ]
    with GoogleStandIn(files) as google, TemporaryDirectory() as folder:
        key = google.write_credentials(Path(folder) / "key.json")
        check = open_readers(Settings(google_credentials=key, google_api_url=google.url))
        check(["d0"])  # the token, and the connection
        yield check


def _permissions(number: int, chance: random.Random) -> tuple[Permission, ...]:
    groups = chance.sample(range(GROUPS), chance.randint(1, 4))
    owner = Permission(kind="user", value=f"p{number % 400}@example.com")
    return (owner, *(Permission(kind="group", value=f"g{n}@example.com") for n in groups))


def _members(number: int) -> frozenset[str]:
    everyone = {f"p{number * 7 + n}@example.com" for n in range(50)}
    return frozenset(everyone | ({ASKER.email} if number < IN_GROUPS else set()))


def _cards(shared: Mapping[str, tuple[Permission, ...]]) -> dict[str, DocumentCard]:
    return {
        name: DocumentCard(
            id=name, title=name, url="", summary="", permissions=who, source="google_drive"
        )
        for name, who in shared.items()
    }


def _hit(number: int) -> Hit:
    chunk = Chunk(
        id=f"c{number}",
        document_id=f"d{number}",
        document_title="",
        kind="text",
        position=0,
        heading_path=(),
        text="",
        index_text="",
        tokens=0,
    )
    return Hit(chunk=chunk, score=1.0)


def _resource(permission: Permission) -> dict[str, str]:
    return {"id": permission.value, "type": permission.kind, "emailAddress": permission.value}


if __name__ == "__main__":
    main()
