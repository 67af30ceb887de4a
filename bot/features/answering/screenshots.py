"""Pictures in a question: downloaded from Slack, read once by a model that sees, never stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

import structlog
from pydantic import BaseModel, Field, SecretStr, TypeAdapter
from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import IntegrityError

from agents.prompts import render
from bot.questions.tables import QuestionRow, ScreenshotRow
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import AttachedFile, IncomingMessage
from config.errors import ModelError
from config.models import ChatModel, Usage
from enrichment.safety.injection import WITHHELD, clean_text
from loaders.pictures.download import NotAllowed, download, origin
from loaders.pictures.image import (
    MAX_PICTURE_BYTES,
    PictureRefused,
    kind_of,
    read_picture,
    too_large,
)

log = structlog.get_logger()

MOST_SCREENSHOTS = 3
_LONGEST_READ = 2_500
"""Characters of each that join the question."""
_LONGEST_TOLD = 220
_FILE_HOSTS = frozenset({"files.slack.com", "files.slack-gov.com"})
_IN_WORDS = "Please write what it says into your message"
_SCOPE = (
    "Slack doesn't hand it out to me: an administrator can add the scope `files:read` to the app, "
    "install it again, and invite me to this channel"
)


class ScreenshotReply(BaseModel):
    kind: Literal["error", "alert", "chart", "page", "conversation", "diagram", "other", "nothing"]
    shows: str
    text: list[str] = Field(description="Lines exactly as they stand, what matters most first")


@dataclass(frozen=True, kw_only=True)
class ReadFile:
    """What became of one attached file."""

    name: str
    words: str = ""
    """What was read, one line after another; empty for nothing."""
    why_not: str = ""
    """A clause that goes on from the file's name."""
    usage: Usage = Usage()


@dataclass(frozen=True, kw_only=True)
class Attachments:
    """What became of all of them."""

    files: tuple[ReadFile, ...] = ()

    @property
    def words(self) -> str:
        """To stand below the question: data like the question itself, and marked as read."""
        return "\n\n".join(
            f"From a screenshot, as a model read it:\n{one.words}"
            for one in self.files
            if one.words
        )

    @property
    def usage(self) -> Usage:
        return sum((one.usage for one in self.files), Usage())

    @property
    def notes(self) -> list[str]:
        """What the asker is told: what was read, so that a misreading is seen, and what wasn't."""
        read = [_short(one.words) for one in self.files if one.words]
        told = [f"I read your screenshot: “{one}”. Tell me if I misread it." for one in read]
        return told + [f"I can't read `{one.name}`: {one.why_not}." for one in self.unread]

    @property
    def unread(self) -> list[ReadFile]:
        return [one for one in self.files if one.why_not]


_kept = TypeAdapter(tuple[ReadFile, ...])


@dataclass(frozen=True, kw_only=True)
class Screenshots:
    """Reads the files of a question. Whatever happens, the question goes on."""

    web: SlackClient
    engine: Engine
    token: SecretStr | None = field(repr=False)
    api_url: str = ""
    model: ChatModel | None = None

    def of(self, event: IncomingMessage) -> Attachments:
        """Those of the message; what was read is kept with the question, so that a worker that
        takes over after a crash neither downloads nor asks again."""
        question = event.again or event.id
        if (found := self._known(question)) is not None:
            return found
        if not event.attached:
            return Attachments()
        read = [self._read(file) for file in event.attached[:MOST_SCREENSHOTS]]
        read += [
            ReadFile(name=file.name, why_not=f"I look at {MOST_SCREENSHOTS} files at most")
            for file in event.attached[MOST_SCREENSHOTS : MOST_SCREENSHOTS + 1]
        ]
        found = Attachments(files=tuple(read))
        if any(one.words for one in read):
            self._keep(question, found)
        return found

    def _read(self, file: AttachedFile) -> ReadFile:
        if not file.is_picture:
            return ReadFile(
                name=file.name,
                why_not="it isn't a picture. Please paste the lines that matter into your message",
            )
        if self.model is None:
            return ReadFile(
                name=file.name,
                why_not=f"no model that looks at pictures is set up here. {_IN_WORDS}",
            )
        try:
            picture = read_picture(self._downloaded(file))
        except PictureRefused as refused:
            log.info("a screenshot was not read", reason=refused.reason)
            said = str(refused) if isinstance(refused, _Explained) else f"it {refused.reason}"
            return ReadFile(name=file.name, why_not=f"{said}. {_IN_WORDS}")
        prompt = replace(render("read_screenshot"), pictures=(picture,))
        try:
            reply, usage = self.model.structured(prompt, ScreenshotReply)
        except ModelError as error:
            log.warning("a screenshot was not read", reason=str(error))
            why = f"the model that looks at pictures isn't available now. {_IN_WORDS}"
            return ReadFile(name=file.name, why_not=why)
        words = _words(reply)
        if not words:
            return ReadFile(
                name=file.name, why_not=f"nothing can be read in it. {_IN_WORDS}", usage=usage
            )
        return ReadFile(name=file.name, words=words, usage=usage)

    def _downloaded(self, file: AttachedFile) -> bytes:
        """Raises PictureRefused."""
        if file.needs_a_look or not file.url:
            file = self._looked_up(file)
        if file.size > MAX_PICTURE_BYTES:
            raise PictureRefused(too_large(file.size))
        token = self.token.get_secret_value() if self.token else ""
        try:
            got = download(
                file.url, allowed=self._allowed, headers={"Authorization": f"Bearer {token}"},
                most_seconds=30.0,
            )  # fmt: skip
        except NotAllowed:
            raise _Explained(_SCOPE) from None
        # Without the right to a file Slack answers with the page to sign in at, and 200.
        if got.media_type == "text/html" and not kind_of(got.data):
            raise _Explained(_SCOPE)
        return got.data

    def _looked_up(self, file: AttachedFile) -> AttachedFile:
        """Of a channel shared between workspaces, the event tells little of its files."""
        try:
            told = self.web.call("files.info", patience=10.0, file=file.id).get("file") or {}
        except SlackRefused as refused:
            if refused.code == "missing_scope":
                raise _Explained(_SCOPE) from None
            raise _Explained(f"Slack refuses it ({refused.code})") from None
        except (SlackBusy, SlackUnsure):
            raise _Explained("Slack doesn't answer right now") from None
        return AttachedFile.of(told)

    def _allowed(self, address: str) -> bool:
        """The token goes to Slack's file server, or to that of a stand-in for Slack, alone."""
        scheme, host, _ = origin(address)
        ours = (urlsplit(self.api_url).hostname or "").lower()
        if ours and not ours.endswith(("slack.com", "slack-gov.com")):
            return origin(address) == origin(self.api_url)
        return scheme == "https" and host in _FILE_HOSTS and "@" not in urlsplit(address).netloc

    def _known(self, question: str) -> Attachments | None:
        with self.engine.connect() as connection:
            said = connection.scalar(
                select(ScreenshotRow.said).where(ScreenshotRow.question_id == question)
            )
        return None if said is None else Attachments(files=_kept.validate_json(said))

    def _keep(self, question: str, found: Attachments) -> None:
        """Nothing of a question that was taken back while its pictures were looked at."""
        row = {"question_id": question, "said": _kept.dump_json(found.files).decode()}
        state = select(QuestionRow.state).where(QuestionRow.id == question).with_for_update()
        try:
            with self.engine.begin() as connection:
                connection.execute(
                    delete(ScreenshotRow).where(ScreenshotRow.question_id == question)
                )
                if connection.scalar(state) != "withdrawn":
                    connection.execute(insert(ScreenshotRow).values(row))
        except IntegrityError:
            return  # another worker kept the same a moment ago


class _Explained(PictureRefused):
    """Its reason is a whole clause."""


def _words(reply: ScreenshotReply) -> str:
    """Without what is written there for an AI."""
    if reply.kind == "nothing":
        return ""
    lines = [" ".join(line.split()) for line in (*reply.text, reply.shows)]
    read = [one for one in map(clean_text, lines) if one and one != WITHHELD]
    return _cut("\n".join(read), _LONGEST_READ)


def _short(words: str) -> str:
    return _cut(" / ".join(line.rstrip(".") for line in words.split("\n")), _LONGEST_TOLD)


def _cut(said: str, most: int) -> str:
    return said if len(said) <= most else said[:most].rsplit(" ", 1)[0] + " …"
