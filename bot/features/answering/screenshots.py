"""Pictures in a question: downloaded from Slack and read once by a vision model. Only the text that
it reads is stored, with the question."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

import structlog
from pydantic import BaseModel, Field, SecretStr, TypeAdapter

from agents.prompts import render
from bot.questions.store import QuestionStore
from bot.slack.client import SlackBusy, SlackClient, SlackRefused, SlackUnsure
from bot.slack.events import AttachedFile, IncomingMessage
from config.errors import ModelError
from config.models import ChatModel, Prices, Usage
from durable.database import read_stored
from enrichment.safety.injection import REDACTED, redacted
from loaders.pictures.image import MAX_PICTURE_BYTES, kind_of, read_picture
from loaders.untrusted import NotAllowed, ReadRefused, Web, origin, too_large

log = structlog.get_logger()

MAX_SCREENSHOTS = 3
_MAX_TEXT_CHARS = 2_500
"""Characters of each screenshot that are added to the question."""
_MAX_NOTE_CHARS = 220
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
    """An attached file and the text in it, or why it was not read."""

    name: str
    words: str = ""
    """Its text by lines; empty for nothing."""
    why_not: str = ""
    """A clause that follows the file's name."""
    usage: Usage = Usage()


@dataclass(frozen=True, kw_only=True)
class Attachments:
    files: tuple[ReadFile, ...] = ()

    @property
    def words(self) -> str:
        """The text of the screenshots, to append to the question; marked as read by a model."""
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
        """Notes for the asker: the text of each screenshot, so that they notice a misreading, and
        the files that could not be read."""
        texts = [_short(one.words) for one in self.files if one.words]
        notes = [f"I read your screenshot: “{one}”. Tell me if I misread it." for one in texts]
        return notes + [f"I can't read `{one.name}`: {one.why_not}." for one in self.unread]

    @property
    def unread(self) -> list[ReadFile]:
        return [one for one in self.files if one.why_not]


_files = TypeAdapter(tuple[ReadFile, ...])


@dataclass(frozen=True, kw_only=True)
class Screenshots:
    """Reads the files of a question. No error stops the question."""

    web: SlackClient
    records: QuestionStore
    token: SecretStr | None = field(repr=False)
    api_url: str = ""
    model: ChatModel | None = None
    prices: Prices | None = None
    """Of the model."""

    def of(self, event: IncomingMessage, *, may_ask: bool = True) -> Attachments:
        """The attachments of a message. The text is stored with the question: a worker that takes
        over after a crash neither downloads nor reads them again, and pays nothing. `may_ask`:
        False where the budget for models is spent."""
        question = event.again or event.id
        if (stored := self.records.screenshots(question)) is not None:
            return Attachments(
                files=tuple(
                    replace(one, usage=Usage()) for one in read_stored(_files, stored, "screenshot")
                )
            )
        if not event.attached:
            return Attachments()
        files = [self._read(file, may_ask) for file in event.attached[:MAX_SCREENSHOTS]]
        files += [
            ReadFile(name=file.name, why_not=f"I look at {MAX_SCREENSHOTS} files at most")
            for file in event.attached[MAX_SCREENSHOTS : MAX_SCREENSHOTS + 1]
        ]
        if any(one.words for one in files):
            self.records.store_screenshots(question, _files.dump_json(tuple(files)).decode())
        return Attachments(files=tuple(files))

    def _read(self, file: AttachedFile, may_ask: bool) -> ReadFile:
        read = partial(ReadFile, name=file.name)
        if not file.is_picture:
            lines = "the lines that matter into your message"
            return read(why_not=f"it isn't a picture. Please paste {lines}")
        if self.model is None:
            return read(why_not=f"no model that looks at pictures is set up here. {_IN_WORDS}")
        if not may_ask:
            why = "the daily budget for the model that looks at pictures is used up"
            return read(why_not=f"{why}. {_IN_WORDS}")
        try:
            picture = read_picture(self._download(file))
        except ReadRefused as refused:
            log.info("a screenshot was not read", reason=refused.reason)
            why = str(refused) if isinstance(refused, _ClauseRefused) else f"it {refused.reason}"
            return read(why_not=f"{why}. {_IN_WORDS}")
        prompt = replace(render("read_screenshot"), pictures=(picture,))
        try:
            reply, usage = self.model.structured(prompt, ScreenshotReply)
        except ModelError as error:
            log.warning("a screenshot was not read", reason=str(error))
            why = f"the model that looks at pictures isn't available now. {_IN_WORDS}"
            return read(why_not=why)
        if words := _words(reply):
            return read(words=words, usage=usage)
        return read(why_not=f"nothing can be read in it. {_IN_WORDS}", usage=usage)

    def _download(self, file: AttachedFile) -> bytes:
        """Raises ReadRefused."""
        if file.needs_a_look or not file.url:
            file = self._file_info(file)
        if file.size > MAX_PICTURE_BYTES:
            raise ReadRefused(too_large(file.size, MAX_PICTURE_BYTES))
        token = self.token.get_secret_value() if self.token else ""
        web = Web(
            allows=self._allowed, is_inner=lambda host: True, max_bytes=MAX_PICTURE_BYTES,
            max_seconds=30.0,
        )  # fmt: skip
        try:
            response = web.download(file.url, {"Authorization": f"Bearer {token}"})
        except NotAllowed:
            raise _ClauseRefused(_SCOPE) from None
        # Without access to a file Slack answers 200, with its sign-in page.
        if response.media_type == "text/html" and not kind_of(response.data):
            raise _ClauseRefused(_SCOPE)
        return response.data

    def _file_info(self, file: AttachedFile) -> AttachedFile:
        """In a channel shared between workspaces, the event has only the file's id."""
        try:
            info = self.web.call("files.info", patience=10.0, file=file.id).get("file") or {}
        except SlackRefused as refused:
            if refused.code == "missing_scope":
                raise _ClauseRefused(_SCOPE) from None
            raise _ClauseRefused(f"Slack refuses it ({refused.code})") from None
        except (SlackBusy, SlackUnsure):
            raise _ClauseRefused("Slack doesn't answer right now") from None
        return AttachedFile.of(info)

    def _allowed(self, address: str) -> bool:
        """The token goes only to Slack's file server, or to that of a test server."""
        scheme, host, _ = origin(address)
        api_host = (urlsplit(self.api_url).hostname or "").lower()
        if api_host and not api_host.endswith(("slack.com", "slack-gov.com")):
            return origin(address) == origin(self.api_url)
        return scheme == "https" and host in _FILE_HOSTS and "@" not in urlsplit(address).netloc


class _ClauseRefused(ReadRefused):
    """Its reason is a whole clause."""


def _words(reply: ScreenshotReply) -> str:
    """Without instructions to a model."""
    if reply.kind == "nothing":
        return ""
    lines = [" ".join(line.split()) for line in (*reply.text, reply.shows)]
    safe = [one for one in map(redacted, lines) if one and one != REDACTED]
    return _cut("\n".join(safe), _MAX_TEXT_CHARS)


def _short(words: str) -> str:
    return _cut(" / ".join(line.rstrip(".") for line in words.split("\n")), _MAX_NOTE_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …"
