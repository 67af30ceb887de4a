"""Descriptions of a document's pictures by a vision model, cached by the picture's digest.

Pictures that wait for the model are stored in the state database: the process that prepares a
document did not load it, and the pictures' addresses soon expire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Literal

from pydantic import BaseModel, Field
from sqlalchemy import DateTime, Engine, String, delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from config.errors import ModelError
from config.models import ChatModel, Prompt, ShownPicture
from durable.database import replace_row
from durable.migration import migrate
from enrichment.llm.budget import Budget, RunReport
from enrichment.llm.prompts import render
from enrichment.llm.reply_cache import ReplyCache, cache_key
from loaders.document import Block, Document, Image, images_of
from loaders.pictures.document_pictures import PictureCollector, with_images


class _Base(DeclarativeBase):
    pass


class PictureRow(_Base):
    __tablename__ = "ingest_pictures"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    media_type: Mapped[str] = mapped_column(String(40))
    picture: Mapped[bytes]
    kept_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))


_MAX_AGE = timedelta(days=30)
"""When a run's budget is spent, pictures wait for the next run. Older ones are deleted."""


class PendingPictureStore:
    """Safe to use from several threads and processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        migrate(engine, _Base.metadata, "ingest-pictures")
        old = PictureRow.kept_at < datetime.now(UTC) - _MAX_AGE
        with engine.begin() as connection:
            connection.execute(delete(PictureRow).where(old))

    def save(self, picture: ShownPicture) -> None:
        try:
            with self._engine.begin() as connection:
                replace_row(
                    connection, PictureRow, digest=picture.digest, media_type=picture.media_type,
                    picture=picture.data, kept_at=datetime.now(UTC),
                )  # fmt: skip
        except IntegrityError:
            return  # another process just stored the same picture

    def find(self, digest: str) -> ShownPicture | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(PictureRow).where(PictureRow.digest == digest)).first()
        if row is None:
            return None
        return ShownPicture(media_type=row.media_type, data=row.picture, digest=digest)

    def clear(self, digest: str) -> None:
        """Delete a picture that has been described."""
        with self._engine.begin() as connection:
            connection.execute(delete(PictureRow).where(PictureRow.digest == digest))


MAX_DESCRIPTION_CHARS = 6_000
_MAX_LINE_CHARS = 600


class PictureReply(BaseModel):
    kind: Literal["diagram", "screenshot", "chart", "table", "text", "photo", "decoration"]
    shows: str
    text: list[str] = Field(description="Every line that can be read, exactly, in reading order")
    relations: list[str] = Field(description="`A → B: what goes there`, or steps in their order")
    unreadable: str = Field(description="What can't be read or is unsure; empty for nothing")


@dataclass
class PictureReport(RunReport):
    """Counts of one run; each picture counts once per document."""

    pictures: int = 0
    asked: int = 0
    known: int = 0
    """Replies from the cache."""
    described: int = 0
    decorations: int = 0
    """Pictures in which the model sees nothing worth searching for."""
    failed: int = 0
    """Not described; the next run tries again."""
    unread: int = 0
    """Failed ones that were not fetched: their document has to be loaded again."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Number of skipped pictures by reason."""
    reasons: list[str] = field(default_factory=list)
    """One line per failure: the picture and the reason."""


@dataclass(frozen=True, kw_only=True)
class Vision:
    """A vision model with its budget, its cache and the pictures that wait for it."""

    model: ChatModel
    budget: Budget
    cache: ReplyCache
    pending: PendingPictureStore

    def cached_reply(self, digest: str) -> PictureReply | None:
        key = cache_key(
            _prompt(ShownPicture(media_type="", data=b"", digest=digest)), self.model.name
        )
        return self.cache.find(key, PictureReply)

    def collector(self) -> PictureCollector:
        """A collector for document sources: stores each picture that has no description yet."""
        return PictureCollector(
            save=self.pending.save,
            is_described=lambda digest: self.cached_reply(digest) is not None,
        )


def with_descriptions(document: Document, vision: Vision) -> tuple[Document, PictureReport]:
    """The document with its pictures described. Never raises when the model fails."""
    report = PictureReport()
    replies: dict[str, PictureReply | None] = {}

    def described(image: Image, block: Block) -> Image:
        mark = image.digest or image.passed_over or f"{image.uri} {image.object_id}"
        if mark not in replies or not image.digest:
            report.pictures += 1
            place = f"{document.id}: picture under {block.heading_path[-1:] or (document.title,)}"
            replies[mark] = _describe(image, vision, report, place)
        reply = replies[mark]
        return replace(image, description=as_text(reply) if reply else "")

    blocks = tuple(
        with_images(block, partial(described, block=block)) if any(images_of(block)) else block
        for block in document.blocks
    )
    return replace(document, blocks=blocks), report


def as_text(reply: PictureReply) -> str:
    """One line after another; '' for a decoration."""
    if reply.kind == "decoration":
        return ""
    lines = [f"A {reply.kind}: {_line(reply.shows)}"]
    if text_lines := _lines(reply.text):
        lines.append("Text in it: " + " | ".join(text_lines))
    lines += [f"- {relation}" for relation in _lines(reply.relations)]
    if doubt := _line(reply.unreadable):
        lines.append(f"Not readable: {doubt}")
    fitting, room = [], MAX_DESCRIPTION_CHARS
    for line in lines:
        if len(line) > room:
            fitting.append(line[:room].rsplit(" ", 1)[0] + " …")
            break
        fitting.append(line)
        room -= len(line) + 1
    return "\n".join(fitting)


def _describe(
    image: Image, vision: Vision, report: PictureReport, place: str
) -> PictureReply | None:
    if image.passed_over:
        report.passed_over[image.passed_over] += 1
        return None
    reply = vision.cached_reply(image.digest) if image.digest else None
    if reply is not None:
        report.known += 1
    else:
        try:
            reply = _ask_model(image, vision, report)
        except ModelError as error:
            report.failed += 1
            report.reasons.append(f"{place}: {error}")
            return None
    if reply is None:
        report.failed += 1
        report.unread += 1
        report.reasons.append(f"{place}: it has to be fetched again")
        return None
    vision.pending.clear(image.digest)
    if reply.kind == "decoration":
        report.decorations += 1
    else:
        report.described += 1
    return reply


def _ask_model(image: Image, vision: Vision, report: PictureReport) -> PictureReply | None:
    """None when the picture is not stored. Raises ModelError."""
    picture = vision.pending.find(image.digest) if image.digest else None
    if picture is None:
        return None
    prompt = _prompt(picture)
    report.asked += 1
    reply = vision.budget.ask(vision.model, prompt, PictureReply)
    vision.cache.save(cache_key(prompt, vision.model.name), prompt, vision.model.name, reply)
    return reply


def _prompt(picture: ShownPicture) -> Prompt:
    return replace(render("describe_picture"), pictures=(picture,))


def _lines(texts: Sequence[str]) -> list[str]:
    return [line for line in map(_line, texts) if line]


def _line(text: str) -> str:
    return " ".join(text.split())[:_MAX_LINE_CHARS]
