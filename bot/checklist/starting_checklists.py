"""From an answer to its checklist: by a button below it, or by words in its thread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog

from agents.answer import Answer
from bot.access.doors import Door
from bot.checklist.checklist_keeper import SHOW, ChecklistKeeper, moment
from bot.checklist.checklist_standing import Checklist
from bot.checklist.kept_checklists import checklist_id
from bot.checklist.pressed_buttons import START
from bot.checklist.runbook_found import FoundRunbook, runbook_of
from bot.feature import Additions, AnswerShown, IsPrivate
from bot.feature_tools import FeatureTools
from bot.memory.record import Record, Records, decoded
from bot.message.blockkit import button, link
from bot.slack.event import Asked, read
from bot.slack.web import SlackBusy, SlackRefused, SlackUnsure
from config.domain import Domain
from index.audit import Shown

log = structlog.get_logger()

_WANTED = re.compile(
    r"\W*(?:please\s+)?(?P<verb>(?:start|begin|open|show|make|give me|show me)\s+)?"
    r"(?:the\s+|a\s+|an\s+)?check-?list(?:,?\s+please)?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class StartingChecklists:
    tools: FeatureTools
    records: Records
    keeper: ChecklistKeeper
    is_private: IsPrivate

    def additions(self, shown: AnswerShown) -> Additions:
        """Not below what its asker alone may read: a checklist is worked on together, so it is made
        of what everybody in the thread may read, or not at all."""
        if shown.privately or self._steps(shown.record, shown.answer, shown.domain) is None:
            return Additions()
        return Additions(buttons=(button("Start checklist", START, shown.record.id),))

    def pressed(self, event_id: str, item: Mapping[str, Any]) -> None:
        record = self.records.get(str(item["question_id"]))
        if record is None:
            return
        user, at = str(item["user"]), str(item["at"])
        found = self._of(record)
        if self._may(user, record, at) and found:
            self._start(record, *found, user=user, at=moment(at))

    def on_event(self, event_id: str, event: Mapping[str, Any], team: str) -> bool:
        """`@copilot checklist`, or *start the checklist*, below an answer that leads to steps."""
        asked = read(event, bot_user=self.tools.identity.user, team=team)
        if not isinstance(asked, Asked) or asked.bot or asked.edited or asked.starts_thread:
            return False
        words = _WANTED.fullmatch(asked.text)
        if not words or not (asked.mentioned or words["verb"]):
            return False
        for record in reversed(self.records.in_thread(asked.channel, asked.thread_ts)):
            if found := self._of(record):
                if self._may(asked.user, record, asked.ts):
                    self._start(record, *found, user=asked.user, at=moment(asked.ts))
                return True
        return False

    def _of(self, record: Record) -> tuple[Domain, FoundRunbook] | None:
        domain = self.tools.domains().get(record.domain)
        if domain is None or not record.answer or record.state not in ("answered", "posted"):
            return None
        found = self._steps(record, decoded(record.answer), domain)
        return (domain, found) if found else None

    def _steps(self, record: Record, answer: Answer, domain: Domain) -> FoundRunbook | None:
        direct = record.channel.startswith("D")
        if self.tools.published is None or not (direct or record.channel in domain.channels):
            return None
        if not direct and self.is_private(domain, answer):
            return None
        return runbook_of(answer, domain.domain, self.tools.published.snapshot)

    def _may(self, user: str, record: Record, pressed: str) -> bool:
        if record.channel.startswith("D"):
            return user == record.asker
        domain = self.tools.domains().get(record.domain)
        if domain and self.tools.gate.open_to(Door.HAND_OFF, user, [domain]):
            return self.tools.gate.may_see(user, record.channel)
        self.keeper.say_why_not(replace(record.event, user=user, ts=pressed))
        return False

    def _start(
        self, record: Record, domain: Domain, found: FoundRunbook, *, user: str, at: datetime
    ) -> None:
        """Once, however many ask for it; who comes later sees it stand there."""
        runbook = found.runbook
        place = (runbook.tab, *runbook.heading_path)
        checklist = Checklist(
            id=checklist_id(record.channel, record.thread_ts, found.document, place),
            domain=domain.domain,
            channel=record.channel,
            thread_ts=record.thread_ts,
            question_id=record.id,
            document=found.document,
            runbook=runbook,
            generation=found.generation,
            changed="",
            started_by=user,
            started_at=at,
        )
        if not self.keeper.kept.begin(checklist):
            self._tell_it_is_there(checklist)
        self.tools.audit(
            Shown(
                door="checklist",
                place=record.channel,
                asker=user,
                domain=domain.domain,
                generation=found.generation,
                documents={"cited": [found.document]},
                showing=f"checklist-{checklist.id}",
            ),
            domain,
        )
        # By this id it is posted by one worker, however many people ask for it at once.
        self.tools.put(f"{SHOW}-{checklist.id}", {SHOW: {"checklist": checklist.id}})

    def _tell_it_is_there(self, wanted: Checklist) -> None:
        """To whoever asks for a second one, alone; not where a crash made the same press come
        again."""
        known = self.keeper.kept.get(wanted.id)
        posted = self.keeper.kept.posts(wanted).get(0) if known else None
        if not known or not posted or known.started_at == wanted.started_at:
            return
        place = f"archives/{known.channel}/p{posted.replace('.', '')}?thread_ts={known.thread_ts}"
        url = f"{self.tools.identity.team_url.rstrip('/')}/{place}&cid={known.channel}"
        there = link(url if self.tools.identity.team_url else "", "in this thread")
        try:
            self.tools.web.call(
                "chat.postEphemeral",
                patience=30.0,
                channel=known.channel,
                user=wanted.started_by,
                thread_ts=known.thread_ts,
                text=f"This checklist is already {there}.",
            )
        except (SlackRefused, SlackBusy, SlackUnsure) as error:
            log.info("a note was not shown", reason=str(error))
