"""Checklists as a feature: started from an answer by its button or by a message in its thread.

Listeners store each press as an event; `ChecklistService` decides."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import ClassVar

import structlog
from slack_bolt import App

from agents.answer import Answer
from bot.blocks.kit import Json, button, input_block, link, modal, submitted_value, text_input
from bot.bus.events import Enqueue, Event
from bot.feature import (
    Ack,
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
    timeline,
)
from bot.features.checklists.step_views import (
    COPY,
    COPY_VIEW,
    DONE,
    MORE,
    NOT_NEEDED,
    REPORT,
    UNDO,
    command_view,
)
from bot.features.checklists.store import ChecklistStore, checklist_id
from bot.features.checklists.views import FINISH, TAKE_OVER
from bot.questions.store import QuestionRecord, QuestionStore, decode_answer
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import IncomingMessage
from bot.slack.messages import moment, profile_name, user_of
from config.domain import Domain
from index.audit import AuditEntry

log = structlog.get_logger()

START = "checklist_start"
REPORT_VIEW = "checklist_report"


@dataclass(frozen=True, kw_only=True)
class ChecklistRequested(Event):
    kind: ClassVar[str] = START
    question_id: str
    user: str
    at: str
    """Slack's timestamp."""


def _listen(app: App, put: Enqueue, *, web: SlackClient, service: ChecklistService) -> None:
    def start(ack: Ack, body: Json, action: Json) -> None:
        question, user = str(action.get("value") or ""), user_of(body)
        at = str(action.get("action_ts") or "")
        event = ChecklistRequested(question_id=question, user=user, at=at)
        put(f"{START}-{question}-{user}-{at}"[:120], event)
        ack()

    def press(ack: Ack, body: Json, action: Json) -> None:
        if event := press_of(body, action):
            put(event.id, event)
        ack()

    def open_form(body: Json, action: Json) -> None:
        act, step, checklist = _act_of(action)
        try:
            if act == REPORT:
                view = report_view(json.dumps({"checklist": checklist, "step": step}))
            elif act == COPY and (texts := service.commands(checklist, step, user_of(body))):
                view = command_view(texts)
            else:
                return
            web.once("views.open", trigger_id=body.get("trigger_id"), view=view)
        except (SlackRefused, SlackUnsure, SlackBusy) as error:
            log.warning("a modal did not open", reason=str(error))

    def report(ack: Ack, body: Json, view: Json) -> None:
        about = json.loads(view["private_metadata"])
        key = f"{StepReported.kind}-{view.get('id')}-{view.get('hash', '')}"[:120]
        event = StepReported(
            id=key,
            user=user_of(body),
            words=submitted_value(view, "words"),
            checklist=str(about["checklist"]),
            step=int(about["step"]),
        )
        put(key, event)
        ack()

    app.action(START)(start)
    app.action(re.compile(rf"^(?:{DONE}_\d+|{TAKE_OVER}|{FINISH})$"))(press)
    app.action(re.compile(rf"^{MORE}_\d+$"))(ack=press, lazy=[open_form])
    app.view(REPORT_VIEW)(report)
    app.view(COPY_VIEW)(lambda ack: ack())


def press_of(body: Json, action: Json) -> ChecklistPressed | None:
    """None for an option whose form decides."""
    act, step, checklist = _act_of(action)
    if act == REPORT or not act:
        return None
    user, at = user_of(body), str(action.get("action_ts") or "")
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


def _act_of(action: Json) -> tuple[str, int, str]:
    """(act, place of the step, id of the checklist); the act is empty for an unknown option."""
    name, value = str(action.get("action_id") or ""), str(action.get("value") or "")
    if whole := {TAKE_OVER: "take", FINISH: "finish"}.get(name):
        return whole, WHOLE, value
    if name.startswith(f"{DONE}_"):
        return "done", int(name.removeprefix(f"{DONE}_")), value
    option = str((action.get("selected_option") or {}).get("value") or "")
    act, _, rest = option.partition(" ")
    step, _, checklist = rest.partition(" ")
    is_valid = act in (NOT_NEEDED, UNDO, REPORT, COPY) and step.isdigit()
    return (act, int(step), checklist) if is_valid else ("", WHOLE, "")


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

    def additions(self, answer: OutgoingAnswer) -> AnswerExtras:
        """The button below an answer whose steps everyone in the thread may read: people work on a
        checklist together."""
        if answer.privately or self._steps(answer.record, answer.answer, answer.domain) is None:
            return AnswerExtras()
        return AnswerExtras(buttons=(button("Start checklist", START, answer.record.id),))

    def on_press(self, event_id: str, event: ChecklistRequested) -> None:
        record = self.records.get(event.question_id)
        if record is None:
            return
        source = self._source(record)
        acted = replace(record.event, user=event.user, ts=event.at)
        if self.service.may(acted, record.domain, record.asker) and source:
            self._start(record, *source, user=event.user, at=moment(event.at))

    def on_message(
        self, event_id: str, message: IncomingMessage, event: Mapping[str, object]
    ) -> bool:
        """`@copilot checklist`, or *start the checklist*, below an answer that cites steps."""
        if message.bot or message.edited or message.starts_thread:
            return False
        request = _REQUEST.fullmatch(message.text)
        if not request or not (message.mentioned or request["verb"]):
            return False
        for record in reversed(self.records.in_thread(message.channel, message.thread_ts)):
            if source := self._source(record):
                acted = replace(record.event, user=message.user, ts=message.ts)
                if self.service.may(acted, record.domain, record.asker):
                    self._start(record, *source, user=message.user, at=moment(message.ts))
                return True
        return False

    def _source(self, record: QuestionRecord) -> tuple[Domain, RunbookRef] | None:
        domain = self.context.domains().get(record.domain)
        if domain is None or not record.answer or record.state not in ("answered", "posted"):
            return None
        runbook = self._steps(record, decode_answer(record.answer), domain)
        return (domain, runbook) if runbook else None

    def _steps(self, record: QuestionRecord, answer: Answer, domain: Domain) -> RunbookRef | None:
        direct = record.channel.startswith("D")
        if self.context.published is None or not (direct or record.channel in domain.channels):
            return None
        if not direct and self.is_private(domain, answer):
            return None
        return runbook_of(answer, domain.domain, self.context.published.snapshot)

    def _start(
        self, record: QuestionRecord, domain: Domain, ref: RunbookRef, *, user: str, at: datetime
    ) -> None:
        """One checklist per section and thread; who asks again gets a link to it."""
        runbook = ref.runbook
        place = (runbook.tab, *runbook.heading_path)
        checklist = Checklist(
            id=checklist_id(record.channel, record.thread_ts, ref.document, place),
            domain=domain.domain,
            channel=record.channel,
            thread_ts=record.thread_ts,
            question_id=record.id,
            document=ref.document,
            runbook=runbook,
            generation=ref.generation,
            changed="",
            started_by=user,
            started_at=at,
        )
        if not self.service.store.begin(checklist):
            self._link_to_existing(checklist)
        self.context.audit(
            AuditEntry(
                door="checklist",
                place=record.channel,
                asker=user,
                domain=domain.domain,
                generation=ref.generation,
                documents={"cited": [ref.document]},
                showing=f"checklist-{checklist.id}",
            ),
            domain,
        )
        # One event id: one worker posts it, however many people ask at once.
        due = ChecklistDue(checklist=checklist.id)
        self.context.put(f"{due.kind}-{checklist.id}", due)

    def _link_to_existing(self, second: Checklist) -> None:
        """Send a note to the user alone, unless the same press is delivered again after a crash."""
        first = self.service.store.get(second.id)
        if not first or first.started_at == second.started_at:
            return
        ts = self.service.store.posts(first).get(0) or first.thread_ts  # not on record yet
        place = f"archives/{first.channel}/p{ts.replace('.', '')}?thread_ts={first.thread_ts}"
        team_url = self.context.identity.team_url
        url = f"{team_url}/{place}&cid={first.channel}" if team_url else ""
        there = link(url, "in this thread")
        try:
            self.context.web.call(
                "chat.postEphemeral",
                patience=30.0,
                channel=first.channel,
                user=second.started_by,
                thread_ts=first.thread_ts,
                text=f"This checklist is already {there}.",
            )
        except (SlackRefused, SlackBusy, SlackUnsure) as error:
            log.info("ephemeral message could not be posted", reason=str(error))


def build_checklists(
    context: FeatureContext, records: QuestionStore, is_private: IsPrivate, say_why_not: SayWhyNot
) -> Feature:
    """Without published documents no answer offers a checklist."""
    store = ChecklistStore(context.engine)
    posts = ChecklistPosts(web=context.web, store=store, name_of=partial(profile_name, context.web))
    service = ChecklistService(context, store, posts, say_why_not)
    starter = ChecklistStarter(context, records, service, is_private)
    return Feature(
        listen=partial(_listen, web=context.web, service=service),
        handlers={
            ChecklistRequested: starter.on_press,
            ChecklistPressed: service.on_press,
            StepReported: service.on_report,
            ChecklistDue: service.post,
            SummaryDue: service.post_summary,
        },
        plan=service.compare_all,
        on_message=starter.on_message,
        additions=starter.additions,
        digest=partial(half_done, store, context.identity.team_url),
        timeline=partial(timeline, store),
    )
