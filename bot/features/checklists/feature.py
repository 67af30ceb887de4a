"""From an answer to its checklist: by a button below it, or by words in its thread.

What people press on a checklist, as items of the inbox. Nothing is decided here.

Checklists, put together."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import ClassVar

import structlog
from slack_bolt import App

from agents.answer import Answer
from bot.access.gate import EntryPoint
from bot.blocks.kit import Json, button, input_block, link, modal, submitted, text_input
from bot.bus.events import Enqueue, Event
from bot.feature import (
    AnswerExtras,
    Feature,
    FeatureContext,
    IsPrivate,
    OutgoingAnswer,
    SayWhyNot,
)
from bot.features.checklists.posts import ChecklistPosts
from bot.features.checklists.progress import WHOLE, Checklist
from bot.features.checklists.runbook import RunbookRef, runbook_of
from bot.features.checklists.service import (
    ChecklistDue,
    ChecklistPressed,
    ChecklistService,
    StepReported,
    SummaryDue,
    half_done,
    moment,
    profile_name,
)
from bot.features.checklists.step_views import DONE, MORE, NOT_NEEDED, REPORT, UNDO
from bot.features.checklists.store import ChecklistStore, checklist_id
from bot.features.checklists.views import FINISH, TAKE_OVER
from bot.questions.store import QuestionRecord, QuestionStore, decoded
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage, read
from config.domain import Domain
from index.audit import AuditEntry

log = structlog.get_logger()

START = "checklist_start"
REPORT_VIEW = "checklist_report"
Ack = Callable[..., object]


@dataclass(frozen=True, kw_only=True)
class ChecklistRequested(Event):
    kind: ClassVar[str] = START
    question_id: str
    user: str
    at: str
    """Slack's timestamp."""


def _listen(app: App, put: Enqueue, web: SlackClient) -> None:
    def start(ack: Ack, body: Json, action: Json) -> None:
        question, user = str(action.get("value") or ""), _user(body)
        at = str(action.get("action_ts") or "")
        event = ChecklistRequested(question_id=question, user=user, at=at)
        put(f"{START}-{question}-{user}-{at}"[:120], event)
        ack()

    def press(ack: Ack, body: Json, action: Json) -> None:
        if pressed := press_of(body, action):
            put(pressed.id, pressed)
        ack()

    def ask_what(body: Json, action: Json) -> None:
        act, step, checklist = _chosen(action)
        if act != REPORT:
            return
        view = report_view(json.dumps({"checklist": checklist, "step": step}))
        try:
            web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("a modal did not open", reason=str(error))

    def report(ack: Ack, body: Json, view: Json) -> None:
        about = json.loads(view["private_metadata"])
        key = f"{StepReported.kind}-{view.get('id')}-{view.get('hash', '')}"[:120]
        event = StepReported(
            id=key,
            user=_user(body),
            words=submitted(view, "words"),
            checklist=str(about["checklist"]),
            step=int(about["step"]),
        )
        put(key, event)
        ack()

    app.action(START)(start)
    app.action(re.compile(rf"^(?:{DONE}_\d+|{TAKE_OVER}|{FINISH})$"))(press)
    app.action(re.compile(rf"^{MORE}_\d+$"))(ack=press, lazy=[ask_what])
    app.view(REPORT_VIEW)(report)


def press_of(body: Json, action: Json) -> ChecklistPressed | None:
    """The state that is asked for; None for what opens a form."""
    act, step, checklist = _chosen(action)
    if act == REPORT or not act:
        return None
    user, at = _user(body), str(action.get("action_ts") or "")
    return ChecklistPressed(
        id=f"checklist-{checklist}-{act}-{step}-{user}-{at}"[:120],
        checklist=checklist,
        step=step,
        act=act,
        user=user,
        at=at,
    )


def report_view(remember: str) -> Json:
    words = input_block(
        "words",
        "What is wrong?",
        text_input(multiline=True),
        optional=False,
        hint="Shown at the step, and sent to the owner of the runbook.",
    )
    return modal(
        REPORT_VIEW, "Wrong or outdated", [words], remember=remember, submit="Send", close="Cancel"
    )


def _chosen(action: Json) -> tuple[str, int, str]:
    """(what, which step, which checklist)."""
    name = str(action.get("action_id") or "")
    if name == TAKE_OVER:
        return "take", WHOLE, str(action.get("value") or "")
    if name == FINISH:
        return "finish", WHOLE, str(action.get("value") or "")
    if name.startswith(f"{DONE}_"):
        return "done", int(name.removeprefix(f"{DONE}_")), str(action.get("value") or "")
    chosen = str((action.get("selected_option") or {}).get("value") or "")
    act, _, rest = chosen.partition(" ")
    step, _, checklist = rest.partition(" ")
    known = act in (NOT_NEEDED, UNDO, REPORT) and step.isdigit()
    return (act, int(step), checklist) if known else ("", WHOLE, "")


def _user(body: Json) -> str:
    return str((body.get("user") or {}).get("id") or "")


_REQUEST = re.compile(
    r"\W*(?:please\s+)?(?P<verb>(?:start|begin|open|show|make|give me|show me)\s+)?"
    r"(?:the\s+|a\s+|an\s+)?check-?list(?:,?\s+please)?\W*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ChecklistStarter:
    context: FeatureContext
    records: QuestionStore
    service: ChecklistService
    is_private: IsPrivate

    def additions(self, shown: OutgoingAnswer) -> AnswerExtras:
        """Not below what its asker alone may read: a checklist is worked on together, so it is made
        of what everybody in the thread may read, or not at all."""
        if shown.privately or self._steps(shown.record, shown.answer, shown.domain) is None:
            return AnswerExtras()
        return AnswerExtras(buttons=(button("Start checklist", START, shown.record.id),))

    def pressed(self, event_id: str, event: ChecklistRequested) -> None:
        record = self.records.get(event.question_id)
        if record is None:
            return
        found = self._of(record)
        if self._may(event.user, record, event.at) and found:
            self._start(record, *found, user=event.user, at=moment(event.at))

    def on_event(self, event_id: str, event: Mapping[str, object], team: str) -> bool:
        """`@copilot checklist`, or *start the checklist*, below an answer that leads to steps."""
        asked = read(event, bot_user=self.context.identity.user, team=team)
        if (
            not isinstance(asked, IncomingMessage)
            or asked.bot
            or asked.edited
            or asked.starts_thread
        ):
            return False
        words = _REQUEST.fullmatch(asked.text)
        if not words or not (asked.mentioned or words["verb"]):
            return False
        for record in reversed(self.records.in_thread(asked.channel, asked.thread_ts)):
            if found := self._of(record):
                if self._may(asked.user, record, asked.ts):
                    self._start(record, *found, user=asked.user, at=moment(asked.ts))
                return True
        return False

    def _of(self, record: QuestionRecord) -> tuple[Domain, RunbookRef] | None:
        domain = self.context.domains().get(record.domain)
        if domain is None or not record.answer or record.state not in ("answered", "posted"):
            return None
        found = self._steps(record, decoded(record.answer), domain)
        return (domain, found) if found else None

    def _steps(self, record: QuestionRecord, answer: Answer, domain: Domain) -> RunbookRef | None:
        direct = record.channel.startswith("D")
        if self.context.published is None or not (direct or record.channel in domain.channels):
            return None
        if not direct and self.is_private(domain, answer):
            return None
        return runbook_of(answer, domain.domain, self.context.published.snapshot)

    def _may(self, user: str, record: QuestionRecord, pressed: str) -> bool:
        if record.channel.startswith("D"):
            return user == record.asker
        domain = self.context.domains().get(record.domain)
        if domain and self.context.gate.open_to(EntryPoint.HAND_OFF, user, [domain]):
            return self.context.gate.may_see(user, record.channel)
        self.service.say_why_not(replace(record.event, user=user, ts=pressed))
        return False

    def _start(
        self, record: QuestionRecord, domain: Domain, found: RunbookRef, *, user: str, at: datetime
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
        if not self.service.store.begin(checklist):
            self._tell_it_is_there(checklist)
        self.context.audit(
            AuditEntry(
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
        due = ChecklistDue(checklist=checklist.id)
        self.context.put(f"{due.kind}-{checklist.id}", due)

    def _tell_it_is_there(self, wanted: Checklist) -> None:
        """To whoever asks for a second one, alone; not where a crash made the same press come
        again."""
        known = self.service.store.get(wanted.id)
        posted = self.service.store.posts(wanted).get(0) if known else None
        if not known or not posted or known.started_at == wanted.started_at:
            return
        place = f"archives/{known.channel}/p{posted.replace('.', '')}?thread_ts={known.thread_ts}"
        url = f"{self.context.identity.team_url.rstrip('/')}/{place}&cid={known.channel}"
        there = link(url if self.context.identity.team_url else "", "in this thread")
        try:
            self.context.web.call(
                "chat.postEphemeral",
                patience=30.0,
                channel=known.channel,
                user=wanted.started_by,
                thread_ts=known.thread_ts,
                text=f"This checklist is already {there}.",
            )
        except (SlackRefused, SlackBusy, SlackUnsure) as error:
            log.info("a note was not shown", reason=str(error))


def build_checklists(
    context: FeatureContext, records: QuestionStore, is_private: IsPrivate, say_why_not: SayWhyNot
) -> Feature:
    """Runbooks as checklists. Without published documents there is nothing to offer."""
    store = ChecklistStore(context.engine)
    posts = ChecklistPosts(web=context.web, store=store, name_of=partial(profile_name, context.web))
    service = ChecklistService(context, store, posts, say_why_not)
    starter = ChecklistStarter(context, records, service, is_private)
    return Feature(
        listen=lambda app, put: _listen(app, put, context.web),
        handlers={
            ChecklistRequested: starter.pressed,
            ChecklistPressed: service.pressed,
            StepReported: service.reported,
            ChecklistDue: service.show,
            SummaryDue: service.sum_up,
        },
        plan=service.compare_all,
        on_event=starter.on_event,
        additions=starter.additions,
        digest=partial(half_done, store, context.identity.team_url),
    )
