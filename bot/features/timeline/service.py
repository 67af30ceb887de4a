"""Collects what happened in a thread, and posts it, sends it as Markdown, or saves it at Google."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import islice
from typing import ClassVar

import structlog

from bot.access.gate import Place
from bot.blocks.body import bodies, prose_blocks
from bot.blocks.kit import link, section
from bot.blocks.render import SlackMessage
from bot.blocks.sanitize.text import host_of, links_to, sanitize_mrkdwn
from bot.bus.events import Event
from bot.feature import (
    DocumentOwners,
    FeatureContext,
    IncidentThread,
    SayWhyNot,
    TimelineEntry,
)
from bot.features.timeline.rows import ThreadMessage, Timeline, timeline_of
from bot.features.timeline.store import TimelineStore
from bot.features.timeline.views import (
    Thread,
    timeline_markdown,
    timeline_message,
    timeline_title,
)
from bot.posting.posts import post_once, post_with_fallback
from bot.questions.store import QuestionStore
from bot.slack.client import SlackRefused
from bot.slack.events import IncomingMessage, files_of
from bot.slack.messages import (
    Message,
    is_own,
    mentions,
    moment,
    own_part,
    part_of,
    payload_of,
    plain,
    profile_name,
    question_id,
    unfinished,
    whisper,
    words_of,
)
from config.domain import Domain, domain_of
from config.errors import ConfigError
from index.permissions.acts import Act
from loaders.google.owners import Saved

log = structlog.get_logger()

Source = Callable[[IncidentThread], Iterator[TimelineEntry]]
Collected = tuple[Timeline, Thread]
POST_EVENT = "oncall_timeline"
MAX_MESSAGES = 1_000
MAX_PARTS = 8
"""Messages that Markdown is sent in."""


@dataclass(frozen=True, kw_only=True)
class TimelineRequested(Event):
    kind: ClassVar[str] = "timeline"
    channel: str
    thread_ts: str
    user: str
    at: str
    """Slack's timestamp of the request."""
    form: str = "message"
    """message | markdown | document"""

    @property
    def id(self) -> str:
        return f"timeline-{self.channel}-{self.thread_ts}-{self.form}-{self.user}-{self.at}"[:120]


@dataclass(frozen=True)
class TimelineService:
    context: FeatureContext
    records: QuestionStore
    store: TimelineStore
    sources: Sequence[Source]
    owners: DocumentOwners | None
    say_why_not: SayWhyNot

    def domain(self, channel: str) -> Domain | None:
        """Whose channel it is, where its file has timelines on."""
        domain = domain_of(self.context.domains().values(), channel)
        return domain if domain and domain.runbooks.timeline else None

    def answer(self, event_id: str, event: TimelineRequested) -> None:
        """Safe to repeat after a crash."""
        domain = self.domain(event.channel)
        if domain is None or not self._may(event, domain):
            return
        if event.thread_ts == event.at:
            whisper_to(self.context, event, "Ask me for it in the incident's thread.")
            return
        respond = {"markdown": self._send_markdown, "document": self._save}
        try:
            respond.get(event.form, self._post)(event, domain)
        except SlackRefused as refused:
            log.warning("timeline could not be sent", channel=event.channel, reason=refused.code)

    def _may(self, event: TimelineRequested, domain: Domain) -> bool:
        place = Place(domain=domain, channel=event.channel)
        allowed = self.context.gate.may_act(Act.INCIDENT, event.user, place)
        if not allowed:
            message = IncomingMessage(
                channel=event.channel, ts=event.at, thread_ts=event.thread_ts, user=event.user,
                team="", text="",
            )  # fmt: skip
            self.say_why_not(message)
        return allowed

    def _post(self, event: TimelineRequested, domain: Domain) -> None:
        if collected := self._collect(event, domain, shows_documents=True):
            has_folder = bool(domain.runbooks.timeline_folder)
            self._post_once(event, timeline_message(*collected, has_folder=has_folder))

    def _send_markdown(self, event: TimelineRequested, domain: Domain) -> None:
        """To the person alone, as code that can be copied."""
        collected = self._collect(event, domain, shows_documents=True)
        if collected is None:
            return
        text = timeline_markdown(*collected).replace("```", "'''")
        links = links_to((), [host_of(self.context.identity.team_url)])
        parts = list(bodies(prose_blocks(f"```\n{text}```", links)))
        for body in parts[:MAX_PARTS]:
            self._to_person(event, SlackMessage(text="Timeline", blocks=body, links=links))
        if len(parts) > MAX_PARTS:
            whisper_to(self.context, event, "The rest is left out: the timeline is too long.")

    def _save(self, event: TimelineRequested, domain: Domain) -> None:
        """One document for each thread."""
        folder = domain.runbooks.timeline_folder
        if not folder:
            return
        tell = partial(whisper_to, self.context, event)
        # A hash: the event's id has the person's, which would outlive their data.
        press = hashlib.sha256(event.id.encode()).hexdigest()
        is_mine, url = self.store.claim(
            event.channel, event.thread_ts, event_id=press, domain=domain.domain
        )
        if not is_mine:
            there = f"saved {link(url, 'in this Google Doc')}" if url else "being saved just now"
            tell(f"This thread's timeline is {there}.")
            return
        # Whoever reads the folder may not be allowed to read the documents.
        collected = self._collect(event, domain, shows_documents=False)
        if collected is None:
            self.store.release(press)
            return
        title = timeline_title(collected[0])
        saved = Saved(url=url) if url else self._write(event, folder, title, collected)
        if not saved.url:
            log.warning("timeline not saved", domain=domain.domain, reason=saved.why)
            self.store.release(press)
            tell(f"The timeline is not saved: {sanitize_mrkdwn(saved.why)}.")
            return
        self.store.saved(press, saved.url)
        text = f":page_facing_up: Saved as a Google Doc: {link(saved.url, title)}"
        self._post_once(event, SlackMessage(text="Saved as a Google Doc", blocks=[section(text)]))

    def _write(
        self, event: TimelineRequested, folder: str, title: str, collected: Collected
    ) -> Saved:
        if self.owners is None:
            return Saved(why="set GOOGLE_APPLICATION_CREDENTIALS for me first")
        mark = hashlib.sha256(f"{event.channel}:{event.thread_ts}".encode()).hexdigest()[:40]
        try:
            return self.owners.save(
                folder, mark=mark, title=title, markdown=timeline_markdown(*collected)
            )
        except ConfigError as error:
            return Saved(why=str(error))

    def _collect(
        self, event: TimelineRequested, domain: Domain, *, shows_documents: bool
    ) -> Collected | None:
        """None, and a note to the person, where there is nothing. What documents say is left out
        where it isn't open to all readers; the rest is in the audit log then."""
        messages, read_until = self._messages(event)
        name_of = cache(self._name)
        questions = [one.id for one in self.records.in_thread(event.channel, event.thread_ts)]
        about = IncidentThread(channel=event.channel, ts=event.thread_ts, questions=questions)
        entries = [entry for source in self.sources for entry in source(about)]
        readers = self.context.readers
        channel = readers.channel(domain, event.channel)
        showing = readers.showing(channel, door="timeline", place=event.channel)

        def is_open(entry: TimelineEntry) -> bool:
            return shows_documents and showing.names(entry.domain, entry.document)

        entries = [
            replace(one, quote="") if one.document and not is_open(one) else one for one in entries
        ]
        alerts = {one.ts for one in entries if one.alert}
        for message in messages.values():
            if str(message["ts"]) not in alerts and (entry := self._entry(message, name_of)):
                entries.append(entry)
        timeline = timeline_of(entries, read_until=read_until)
        if timeline is None:
            whisper_to(self.context, event, "There is nothing in this thread that I can read.")
            return None
        showing.record(showing=event.id)
        thread = Thread(
            team_url=self.context.identity.team_url, channel=event.channel, ts=event.thread_ts,
            messages=messages, name_of=name_of,
        )  # fmt: skip
        return timeline, thread

    def _messages(self, event: TimelineRequested) -> tuple[dict[str, Message], datetime | None]:
        """By timestamp, oldest first; and when the last one was sent, where there are more."""
        replies = self._replies(event)
        # Each page begins with the thread's first message.
        messages = {str(one["ts"]): one for one in islice(replies, MAX_MESSAGES)}
        is_cut = next(replies, None) is not None
        return messages, moment(list(messages)[-1]) if is_cut else None

    def _replies(self, event: TimelineRequested, oldest: str | None = None) -> Iterator[Message]:
        yield from self.context.web.pages(
            "conversations.replies", "messages", channel=event.channel, ts=event.thread_ts,
            include_all_metadata=True, patience=60.0, oldest=oldest,
        )  # fmt: skip

    def _entry(self, message: Message, name_of: Callable[[str], str]) -> TimelineEntry | None:
        """None for what is no part of the incident: the bot's own cards, and requests for this."""
        web, identity = self.context.web, self.context.identity
        ts = str(message["ts"])
        bot = message.get("bot_id")
        if is_own(message, identity.user) or (bot and bot == web.bot_id):
            if not question_id(message) or part_of(message) or unfinished(message):
                return None
            return TimelineEntry(at=moment(ts), what="The copilot answered", ts=ts)
        raw = words_of(message if bot else own_part(message))
        words = plain(raw, bot_user=identity.user)
        is_request = identity.user in mentions(raw) and is_timeline_request(words)
        if is_request or message.get("subtype") == "tombstone":
            return None
        for who in sorted(mentions(raw), key=len, reverse=True):
            words = words.replace(f"@{who}", f"@{name_of(who)}")
        files = files_of(message)["files"]
        if not words and not files:
            return None
        what = "" if words else "sent a file" if len(files) == 1 else f"sent {len(files)} files"
        user, program = str(message.get("user") or ""), ""
        if bot:
            profile = message.get("bot_profile") or {}
            program = profile.get("name") or message.get("username") or name_of(user)
        return ThreadMessage(
            at=moment(ts), what=what, quote=beginning(words) or ", ".join(files), ts=ts,
            by="" if bot else user, program=program, edited=bool(message.get("edited")),
        )  # fmt: skip

    def _name(self, who: str) -> str:
        return "A user group" if who.startswith("S") else profile_name(self.context.web, who)

    def _post_once(self, event: TimelineRequested, message: SlackMessage) -> None:
        def find() -> str | None:
            own = {"request": event.id}
            later = self._replies(event, oldest=event.at)
            posted = (one for one in later if payload_of(one, POST_EVENT) == own)
            return next((str(one["ts"]) for one in posted), None)

        find() or post_once(
            self.context.web,
            message,
            channel=event.channel,
            thread_ts=event.thread_ts,
            metadata={"event_type": POST_EVENT, "event_payload": {"request": event.id}},
            find=find,
        )

    def _to_person(self, event: TimelineRequested, message: SlackMessage) -> None:
        arguments = {"channel": event.channel, "user": event.user, "thread_ts": event.thread_ts}
        web = self.context.web
        post_with_fallback(web, web.call, "chat.postEphemeral", message, arguments)


_REQUEST = re.compile(
    r"\W*(?:please\s+)?(?:(?:make|show|post|give me|show me)\s+)?(?:the\s+|a\s+)?time[- ]?line"
    r"(?:,?\s+please)?\W*",
    re.IGNORECASE,
)


def is_timeline_request(text: str) -> bool:
    """Whether the whole message asks for it."""
    return bool(_REQUEST.fullmatch(text))


def beginning(text: str) -> str:
    """The first line with words; `…` where more follow."""
    lines = [line for line in map(str.strip, text.splitlines()) if line.strip("`*_~> ")]
    return "" if not lines else lines[0] if len(lines) == 1 else f"{lines[0]} …"


def whisper_to(context: FeatureContext, event: TimelineRequested, text: str) -> None:
    whisper(context.web, event.user, event.channel, event.thread_ts, text)
