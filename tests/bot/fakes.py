"""Scripted agents and what they say. Light to import: the processes that tests kill need it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from agents.answer import Answer, Ask, Citation, Passage, Question
from agents.ledger.ledger import RunLedger
from agents.routing.router import DomainRouter
from agents.steps import Progress
from config.domain import Domain
from config.models import ChatModel, Prices
from config.settings import Settings
from index.permissions.rules import by_email

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from bot.app import Bot
    from bot.questions.store import QuestionRecord, QuestionStore

CHANNEL = "C0SECURITY"


def domain(name: str = "security", channel: str = CHANNEL, **more: Any) -> Domain:
    values = {"domain": name, "title": f"{name.title()} help", "channels": [channel], "sources": {}}
    return Domain.model_validate(values | more)


def answer(text: str = "Rotate them every 90 days [1].", **more: Any) -> Answer:
    citation = Citation(
        number=1,
        document="key-rotation-standard",
        title="Key Rotation Standard",
        heading="Maximum age",
        url="https://docs.google.com/document/d/KEY/edit#heading=h.age",
        quote="Signing keys: 90 days",
        modified_at=datetime.now(UTC) - timedelta(days=95),
    )
    values: dict[str, Any] = {
        "text": text,
        "path": "company_specific_rag_success",
        "confidence": 0.86,
        "citations": (citation,),
        "generation": 7,
    }
    return Answer(**(values | more))


def claim(records: QuestionStore, **stored: str) -> QuestionRecord | None:
    """Put a question on record under any id."""
    message: Any = SimpleNamespace(
        id=stored["question_id"], user=stored["asker"], channel=stored["channel"],
        thread_ts=stored["thread_ts"], text=stored["text"], author="",
    )  # fmt: skip
    return records.claim(stored["event_id"], message, stored.get("domain", ""))


NO_MODEL = "No language model is connected, so here is where the documents speak of this:"


def passages_found(*texts: str, lead: str = NO_MODEL, **more: Any) -> Answer:
    """A reply of these excerpts, each of another section."""
    cited = answer().citations[0]
    passages = tuple(
        Passage(
            citation=replace(cited, number=n, heading=f"Part {n}", url=f"{cited.url}{n}"), text=text
        )
        for n, text in enumerate(texts or ("**Signing keys** are rotated every 90 days.",), start=1)
    )
    told = (
        f"**{one.citation.title} › {one.citation.heading}** [{one.citation.number}]\n\n{one.text}"
        for one in passages
    )
    values: dict[str, Any] = {
        "path": "passages_found",
        "lead": lead,
        "passages": passages,
        "citations": tuple(one.citation for one in passages),
        "confidence": 0.9,
    }
    return answer("\n\n".join((lead, *told)), **(values | more))


@dataclass(frozen=True)
class SpeaksOf:
    """A published index whose one passage is as near to every question as this; none at 0."""

    similarity: float = 0.0
    documents: Mapping[str, Any] = field(default_factory=dict)

    def search(self, query: Any) -> list[Any]:
        if not self.similarity:
            return []
        chunk = SimpleNamespace(
            document_title="", tab="", heading_path=(), heading="", text="", units=()
        )
        return [SimpleNamespace(chunk=chunk, similarity=self.similarity, unit=None)]

    def named(self, keys: Any, **more: Any) -> dict[str, tuple[str, ...]]:
        return {}

    def rarity(self, term: str, **more: Any) -> float:
        return 0.0


EVERYWHERE_ALIKE = DomainRouter(snapshot=lambda name: cast("Any", SpeaksOf()))


class Agents:
    """A scripted `ask`: says the answer of its script, remembers what it was asked."""

    def __init__(self, reply: Callable[[Question], Answer] | Answer | None = None) -> None:
        self._lock = threading.Lock()
        self.reset(reply)

    def reset(self, reply: Callable[[Question], Answer] | Answer | None = None) -> None:
        self.reply = reply or answer()
        self.asked: list[Question] = []
        self.domains: list[str] = []
        self.seconds = 0.0
        self.spoken_of: tuple[str, ...] = ()
        """Domains whose documents speak of whatever is asked."""
        self.model: ChatModel | None = None
        """Chooses among them."""
        self.tell: Callable[[Progress], None] = lambda progress: None

    def __call__(self, name: str) -> Ask:
        def ask(question: Question, progress: Progress | None) -> Answer:
            with self._lock:
                self.asked.append(question)
                self.domains.append(name)
            if progress:
                self.tell(progress)
            time.sleep(self.seconds)
            return self.reply(question) if callable(self.reply) else self.reply

        return ask


def spoken_of_in(agents: Agents) -> DomainRouter:
    """The documents of the domains that the script names speak of whatever is asked."""

    def snapshot(name: str) -> Any:
        return SpeaksOf(0.9 if name in agents.spoken_of else 0.0)

    return DomainRouter(snapshot=snapshot, model=lambda: agents.model)


def bot_of(
    settings: Settings,
    ask: Callable[[str], Ask],
    engine: Engine,
    domains: Mapping[str, Domain],
    *,
    socket: bool = True,
    **more: Any,
) -> Bot:
    """The bot without documents, but for what is said of its agents and documents in `more`."""
    from bot import app

    agents: dict[str, Any] = {
        "ask": ask, "ask_unattended": None, "router": EVERYWHERE_ALIKE, "model": None,
        "streaming": settings.has_chat_model(), "warm": None,
    }  # fmt: skip
    documents: dict[str, Any] = {
        "published": None, "owners": None, "identities": by_email, "status": lambda domain: None,
        "everyone_may_read": lambda domain, documents: False,
    }  # fmt: skip
    assert more.keys() <= agents.keys() | documents.keys()
    agents |= {name: more[name] for name in agents.keys() & more.keys()}
    ledger = RunLedger(engine, prices=Prices(input=1.0, output=1.0))
    agents["router"] = replace(agents["router"], ledger=lambda: ledger)
    return app.Bot(
        settings,
        domains=lambda: domains,
        engine=engine,
        agents=app.Agents(**agents),
        documents=app.Documents(
            **{name: more.get(name, value) for name, value in documents.items()}
        ),
        socket=socket,
    )


def showing_to_all(user: str = "U0INES") -> Any:
    """To a reader from whom nothing is hidden; nothing is recorded."""
    from bot.showing import Showing
    from index.permissions.words import Operator

    reader = Operator()
    reader.user = user
    return Showing(readers=cast("Any", None), reader=reader, door="test", place="")
