"""The alerts of a rehearsal: past ones with an entry that the person may read, else made-up ones;
and how much of an entry an answer in words names.

No model judges: what an answer doesn't name counts as not mentioned, never as wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice

from agents.alerts.reader import alerts_in
from agents.answer import Answer
from agents.context.linked_section import find
from agents.runbooks.answer import runbook_answer
from agents.runbooks.cited_steps import cited_steps
from agents.runbooks.entries import RunbookEntry, plain
from agents.runbooks.lookup import read_document
from agents.runbooks.matching import RunbookMatch, match_alerts
from bot.feature import FeatureContext
from bot.features.rehearsal.store import RehearsedAlert
from bot.questions.store import QuestionStore
from bot.questions.tables import WITHDRAWN
from config.domain import Domain
from config.errors import CopilotError, DatabaseAway
from durable.database import now
from enrichment.language.words import sentences, stems, tokens
from enrichment.names import is_identifier, is_telling, name_key
from index.permissions.acts import Act
from index.permissions.rules import readers_of, visible_to
from index.search import Snapshot

PastAlerts = Callable[[str, datetime], list[tuple[str, str, str]]]
"""(domain, since, UTC without a zone) → (name, channel, question id) of each time that an alert
with an entry began, the newest first."""
SINCE = timedelta(days=90)
MAX_ALERTS, MAX_TRIED, MAX_STEPS = 10, 50, 20
MAX_DOCUMENTS = 300
"""That are read for names of alerts."""
MAX_CHARS = 4_000
"""Of an answer, that are read."""
_LONGEST_NAME = 10
"""Words."""
WITH_AT = re.compile(r"(?<![^\s@])[^\s@]*@\S*")


@dataclass(frozen=True, kw_only=True)
class Drill:
    """One alert, for one person."""

    domain: Domain
    text: str
    """The alert's message, without names of people."""
    entry: RunbookEntry
    answer: Answer
    """As the bot answers that alert to this person."""
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Score:
    place: str
    """As the answer names the entry: the alert, a document or heading; empty where it doesn't."""
    named: tuple[bool, ...]
    """For each step, whether the answer has it."""


@dataclass(frozen=True)
class Drills:
    context: FeatureContext
    records: QuestionStore
    past: PastAlerts

    def open_to(self, user: str) -> list[Domain]:
        """Domains in which this person may rehearse."""
        offered = (one for one in self.context.domains().values() if one.runbooks.rehearsal)
        return self.context.gate.open_to(Act.DIRECT_MESSAGE, user, offered)

    def items(self, user: str, domains: Collection[Domain]) -> tuple[RehearsedAlert, ...]:
        """Different alerts, at most `MAX_ALERTS`; from past ones if there are any."""
        for source in (self._past, self._made_up):
            kinds = dict[tuple[str, str], RehearsedAlert]()
            tried = (islice(source(domain, user), MAX_TRIED) for domain in domains)
            for one in chain.from_iterable(tried):
                if len(kinds) == MAX_ALERTS:
                    break
                key = (one.domain, name_key(one.name))
                if key not in kinds and (drill := self.drill(one, user)) and drill.steps:
                    kinds[key] = one
            if kinds:
                return tuple(kinds.values())
        return ()

    def drill(self, item: RehearsedAlert, user: str) -> Drill | None:
        """None where this person may no longer see the alert, or an entry for it."""
        domain = next((one for one in self.open_to(user) if one.domain == item.domain), None)
        text = self._text(item, user)
        if domain is None or not text:
            return None
        try:
            visible = self._visible(domain, user)
            matches = match_alerts(alerts_in(text, by_bot=True), visible, domain)
            match = next((one for one in matches if _is_of(one, item.name)), None)
            if match is None:
                return None
            answer = runbook_answer([match], visible, [domain.title])
            entry = match.entries[0]
            return Drill(
                domain=domain, text=WITH_AT.sub("somebody", text), entry=entry, answer=answer,
                steps=_steps(entry, answer, visible),
            )  # fmt: skip
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            return None

    def _text(self, item: RehearsedAlert, user: str) -> str:
        if not item.question:
            return f"[FIRING:1] {item.name}"
        record = self.records.get(item.question)
        if record is None or record.state == WITHDRAWN:
            return ""
        return record.text if self.context.gate.may_see(user, record.channel) else ""

    def _visible(self, domain: Domain, user: str) -> Snapshot:
        person = self.context.gate.people.person
        readers = readers_of(
            domain.access.audience, lambda: self.context.identities(domain, person(user))
        )
        return visible_to(self.context.snapshot(domain.domain), readers)

    def _past(self, domain: Domain, user: str) -> Iterator[RehearsedAlert]:
        """The most frequent first, each with its newest message."""
        episodes = self.past(domain.domain, now() - SINCE)
        often = Counter((name, channel) for name, channel, _ in episodes)
        newest = {(name, channel): question for name, channel, question in reversed(episodes)}
        for (name, channel), _ in often.most_common():
            if self.context.gate.may_see(user, channel):
                question = newest[name, channel]
                yield RehearsedAlert(domain=domain.domain, name=name, question=question)

    def _made_up(self, domain: Domain, user: str) -> Iterator[RehearsedAlert]:
        """Of the entries that the documents name."""
        try:
            visible = self._visible(domain, user)
            for card in visible.cards(list(visible.documents)[:MAX_DOCUMENTS]):
                chunks = visible.chunks(card.id)
                rows = (place.text for place, _ in read_document(chunks, card).alert_rows())
                coined = (one.heading for one in chunks if one.heading.isidentifier())
                for name in dict.fromkeys((*rows, *filter(is_identifier, coined))):
                    yield RehearsedAlert(domain=domain.domain, name=name)
        except DatabaseAway:
            raise  # whoever handles the event tries again
        except CopilotError:
            return


def score(words: str, drill: Drill) -> Score:
    """`words`: of the person's answer, empty where they gave none."""
    words = words[:MAX_CHARS]
    own, in_order = stems(words), tokens(words)
    runs = {
        name_key(" ".join(in_order[start:end]))
        for start in range(len(in_order))
        for end in range(start + 1, start + 1 + _LONGEST_NAME)
    }
    cited = drill.answer.citations  # the entry, and the runbook that it leads to
    names = [one.title for one in cited if one.title]
    names += [*filter(is_telling, (one.heading for one in cited)), drill.entry.name]
    places = [one for one in names if name_key(one) in runs or _names(one, own)]
    places += [one.title for one in cited if one.url and one.url in words]
    named = tuple(_has_step(own, step) for step in drill.steps)
    return Score(place=next(iter(places), ""), named=named)


def _names(name: str, words: Collection[str]) -> bool:
    own = stems(name)
    return len(own) > 1 and own <= set(words)


def _has_step(words: Collection[str], step: str) -> bool:
    """Whether at least half of the words of its first sentence are there: two, if it has as many.
    Or one of its commands, whole."""
    commands = map(stems, re.findall(r"`([^`\n]+)`", step))
    if any(len(own) > 1 and own <= set(words) for own in commands):
        return True
    prose = re.sub(r"`[^`\n]*`", " ", step)
    own = stems(next(iter(sentences(prose)), ""))
    shared = len(own & set(words))
    return shared >= min(2, len(own)) and 2 * shared >= len(own) > 0


def _steps(entry: RunbookEntry, answer: Answer, visible: Snapshot) -> tuple[str, ...]:
    """The outermost steps of its section or of the linked runbook, else its first step."""

    def section_of(url: str) -> tuple[str, str] | None:
        linked = find(visible, url)
        return (linked.card.id, linked.heading) if linked else None

    section = cited_steps(answer, visible, section_of)
    steps = [one.text for one in section.steps if not one.level] if section else []
    return tuple(filter(None, map(plain, steps or [entry.first("step")])))[:MAX_STEPS]


def _is_of(match: RunbookMatch, name: str) -> bool:
    return match.outcome == "found" and name_key(match.alert.name) == name_key(name)
