"""Looking over the record: which questions failed, which gap each is part of, and what people said
where the documents didn't.

Safe to repeat: what is known stays as it is, and what could not be done waits for the next."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from agents.answer_cache.same_question import nearest_gap
from bot.bus.events import Suggestion
from bot.feature import PublishedIndex
from bot.features.gaps.drafts import GapDrafts, HumanAnswer
from bot.features.gaps.gap import joined, known_gaps, make_anew
from bot.features.gaps.naming import NOWHERE, NearestPlace, nearest_place
from bot.features.gaps.questions import (
    FailureSignals,
    WhyFailed,
    alert_gap,
    alert_name,
    called,
    failing,
    why_failed,
    words_asked,
)
from bot.features.gaps.store import GapStore, Member
from bot.questions.store import QuestionRecord, QuestionStore, decoded
from bot.slack.messages import permalink
from config.errors import NothingPublished
from enrichment.language.words import written_out
from index.search import Snapshot

log = structlog.get_logger()

MOST_AT_ONCE = 200
"""Questions of one look; the next goes on."""


@dataclass(frozen=True, kw_only=True)
class _New:
    signs: FailureSignals
    why: WhyFailed
    text: str
    alert: str
    """Its name, where it is one."""


@dataclass(frozen=True, kw_only=True)
class GapCollector:
    kept: GapStore
    drafts: GapDrafts
    records: QuestionStore
    published: PublishedIndex
    is_bot: Callable[[str], bool]
    """By Slack user id; what nobody can tell is left to the next look."""
    suggest: Callable[[Suggestion], None]
    team_url: str

    def unseen(self) -> set[str]:
        """Domains of which something has changed since the last look."""
        now, known = failing(self.kept.engine), self.kept.members()
        changed = {
            signs.domain
            for name, signs in now.items()
            if name not in known or known[name].marks != signs.marks
        }
        changed |= {member.domain for name, member in known.items() if name not in now}
        drafted = self.drafts.counts()
        return changed | {
            signs.domain
            for name, signs in now.items()
            if name in known
            and known[name].gap
            and signs.words > drafted.get(name, 0)
            and not name.startswith("D")
        }

    def look(self, domain: str) -> None:
        """Raises CopilotError where the documents or the embedder are away."""
        if not self.kept.look(domain):
            return
        try:
            now = {n: s for n, s in failing(self.kept.engine).items() if s.domain == domain}
            known = self.kept.members(domain)
            self._drop(now, known)
            self._look_again(now, known)
            # Before anything needs the embedder: people's words wait for nobody.
            self._suggest(domain)
            new = list(self._new(now, known))
            if new:
                self._join(domain, new)
                self._suggest(domain)
            self.kept.forget_empty(domain)
        finally:
            self.kept.looked(domain)

    def _drop(self, now: Mapping[str, FailureSignals], known: dict[str, Member]) -> None:
        """Those that were taken back, edited, erased, or whose asker thinks better of it."""
        gone = [n for n, one in known.items() if n not in now or _edited(one, now[n])]
        self.kept.drop(gone)
        for name in gone:
            del known[name]

    def _look_again(self, now: Mapping[str, FailureSignals], known: dict[str, Member]) -> None:
        for name, member in list(known.items()):
            signs = now[name]
            if member.marks == signs.marks:
                continue
            why = self._why(signs)
            if member.gap and why:
                self.kept.note(signs, why)
            else:
                self.kept.drop([name])
                del known[name]

    def _new(
        self, now: Mapping[str, FailureSignals], known: Mapping[str, Member]
    ) -> Iterator[_New]:
        unknown = [name for name in now if name not in known][:MOST_AT_ONCE]
        texts = words_asked(self.kept.engine, unknown)
        for name in unknown:
            why = self._why(now[name])
            if why and name in texts:
                alert = self._alert(self.records.get(name))
                yield _New(signs=now[name], why=why, text=texts[name], alert=alert)
            else:
                self.kept.add(now[name], gap="")

    def _why(self, signs: FailureSignals) -> WhyFailed | None:
        record = self.records.get(signs.question_id)
        if record is None or not record.answer:
            return None
        silent = signs.state == "silent"
        is_alert = self._by_bot(signs.asker) if silent else bool(self._alert(record))
        return why_failed(signs, decoded(record.answer), is_alert=is_alert)

    def _alert(self, record: QuestionRecord | None) -> str:
        return alert_name(record.text, lambda: self._by_bot(record.asker)) if record else ""

    def _by_bot(self, user: str) -> bool:
        return not user or self.is_bot(user)

    def _join(self, domain: str, new: Sequence[_New]) -> None:
        make_anew(self.kept.engine, domain, self.published)
        vectors = self.published.embed([written_out(one.text) for one in new])
        gaps = known_gaps(self.kept, domain)
        snapshot = self._snapshot(domain)
        for one, vector in zip(new, vectors, strict=True):
            place = nearest_place(snapshot, one.text) if snapshot else NOWHERE
            if one.alert:
                gap = alert_gap(domain, one.alert)
            else:
                gap = nearest_gap(one.text, vector, gaps.values()) or _id_of(one.signs)
                gaps[gap] = joined(gaps.get(gap), gap, one.text, vector)
            if self.kept.open(gap, domain, asked_at=one.signs.asked_at):
                self.kept.set(gap, document=place.document, heading=place.heading)
            self.kept.add(
                one.signs, gap=gap, why=one.why, near=place.similarity, vector=vector,
                embedder=self.published.embedder, name=called(one.alert) if one.alert else "",
            )  # fmt: skip
            self._asked_since(gap, one.signs)

    def _asked_since(self, gap: str, signs: FailureSignals) -> None:
        """What was closed is open again when it is asked in vain after that."""
        found = self.kept.get(gap)
        if found and found.state == "closed" and signs.asked_at > found.changed_at:
            self.kept.move(found, "reopened")

    def _suggest(self, domain: str) -> None:
        """Once for each question and what a human said to it."""
        members = {n: one.gap for n, one in self.kept.members(domain).items() if one.gap}
        known = self.drafts.known(members)
        for said in self.drafts.said(members):
            if said.id in known:
                continue
            gap = self.kept.get(members[said.question_id])
            record = self.records.get(said.question_id)
            if gap is None or record is None:
                continue
            place = self._place(domain, record, said)
            self.suggest(self._suggestion(said, record, place))
            self.drafts.add(
                said, gap=gap.id, domain=domain, document=place.document, heading=place.heading
            )
            if gap.state in ("open", "reopened", "dismissed"):
                self.kept.move(gap, "proposed", by=said.by)

    def _suggestion(
        self, said: HumanAnswer, record: QuestionRecord, place: NearestPlace
    ) -> Suggestion:
        answer = decoded(record.answer) if record.answer else None
        return Suggestion(
            id=said.id,
            kind="answer",
            domain=record.domain,
            document=place.document,
            heading=place.heading,
            question=(answer.standalone_question if answer else "") or record.text,
            words=said.words,
            by=said.by,
            question_id=record.id,
            channel=record.channel,
            permalink=permalink(self.team_url, record),
        )

    def _place(self, domain: str, record: QuestionRecord, said: HumanAnswer) -> NearestPlace:
        """Where the answer was taken from, or the nearest that everybody may read."""
        snapshot = self._snapshot(domain)
        if snapshot is None:
            return NOWHERE
        answer = decoded(record.answer) if record.answer else None
        for cited in (*answer.citations, *answer.nearest) if answer else ():
            if cited.document and snapshot.cards([cited.document]):
                return NearestPlace(document=cited.document, heading=cited.heading)
        return nearest_place(snapshot, f"{record.text} {said.words}")

    def _snapshot(self, domain: str) -> Snapshot | None:
        """None where nothing was published yet: then every question is a gap."""
        try:
            return self.published.snapshot(domain)
        except NothingPublished:
            return None


def _edited(member: Member, signs: FailureSignals) -> bool:
    return member.marks.partition(" ")[0] != signs.marks.partition(" ")[0]


def _id_of(signs: FailureSignals) -> str:
    """The same, whoever makes it of this question first."""
    return f"gap-{hashlib.sha256(signs.question_id.encode()).hexdigest()[:16]}"
