"""Asks the configured models; the language model eight short questions about what answers need.

They take about 1,500 tokens and at most half a minute; a model that thinks takes more tokens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass

from pydantic import BaseModel

from agents.answer import CITATION
from agents.answerer.citations import read_citations
from agents.answerer.opening import Opening
from agents.requests import requests_in
from cli.setup.checks import TIMEOUT, model_setting
from config.checks import Finding, attempted, fine, of_error, skipped, wrong
from config.errors import ModelError
from config.langchain_model import LangChainModel
from config.models import Prices, Prompt, Usage
from config.settings import Settings
from enrichment.language.foreign_words import language_of

MAX_SECONDS = 30.0
_MANY_TOKENS = 3
"""Tokens a visible token; more are thoughts that nobody sees."""
_ANOTHER = "answers need it: choose another model"
_RULES = """\
You answer a question from one numbered source and from nothing else. Your first line is one word:
ANSWER when the source says it. Then one sentence in the language of the question, which ends with
the number of the source in square brackets, like [1].
NOTHING when the source says nothing of it. Then one sentence that says so.
LOOK when the source says in which document it stands. Then one line: find: what to search for"""
_SOURCE = """\
source 1 | Widget service
The widget API allows 600 requests a minute for each key. What a key costs stands in the price list.

"""
_PUZZLE = (
    "A train leaves at 9:40 and takes 95 minutes. When does it arrive? Reply with the time only."
)


def check_models(settings: Settings, *, offline: bool = False) -> Iterator[Finding]:
    """Asks the chat model some questions, and the others for a word. `offline`: asks neither the
    chat model nor the one for pictures."""
    from config.chat_model import build_chat_model, build_vision_model
    from config.embeddings import build_embedder

    hello = Prompt(name="checkup", version="1", system="Say ok.", user="ok?", max_tokens=200)

    def chat() -> Iterator[Finding]:
        model = build_chat_model(settings, timeout_seconds=TIMEOUT)
        if isinstance(model, LangChainModel):
            yield from ModelQuestions(model, settings.read_prices()).findings()

    def pictures() -> Iterator[Finding]:
        """Checks the vision model, with the chat model's timeout. The bot needs it if it is set."""
        if build_vision_model(settings, someone_waits=True):
            seer = settings.model_copy(update={"chat_model": settings.vision_model})
            model = build_chat_model(seer, timeout_seconds=TIMEOUT, retries=0)
            for _ in model.stream(hello) if model else ():
                pass
            yield fine("model for pictures", f"{settings.vision_model} answers")

    def embeddings() -> Iterator[Finding]:
        build_embedder(settings)(["hello"])
        yield fine("embeddings", settings.embedding_model)

    named = model_setting(settings)
    can_ask = named.state == "ok" and settings.has_chat_model() and not offline
    yield from attempted("language model", chat) if can_ask else [named]
    if not offline:
        yield from attempted("model for pictures", pictures)
    yield from attempted("embeddings", embeddings)


class _Place(BaseModel):
    """A place and the things that are there."""

    city: str
    people: int
    rivers: list[str]


@dataclass(frozen=True)
class _Reply:
    text: str
    pieces: int
    seconds: float
    """Until the first piece."""
    usage: Usage

    @property
    def verdict(self) -> str:
        opening = Opening()
        opening.feed(self.text)
        opening.close()
        return opening.verdict or ""


class ModelQuestions:
    """Asks and judges. Each method yields the finding of one question."""

    def __init__(self, model: LangChainModel, prices: Prices | None = None) -> None:
        self._model = model
        self._prices = prices
        self._usages: list[Usage] = []

    def findings(self) -> Iterator[Finding]:
        """In order; the later questions are not asked of a model that doesn't answer."""
        end = time.monotonic() + MAX_SECONDS
        try:
            yield self._stream()
        except ModelError as error:
            yield of_error("language model", error)
            return
        questions: dict[str, Callable[[], Finding]] = {
            "model: schema": self._schema, "model: limit": self._limit,
            "model: thoughts": self._thoughts, "model: language": self._language,
            "model: citations": self._citations, "model: no answer": self._silence,
            "model: lookups": self._lookups,
        }  # fmt: skip
        pool = ThreadPoolExecutor(len(questions))
        running = {check: pool.submit(ask) for check, ask in questions.items()}
        for check, future in running.items():
            yield _finding_of(check, future, end)
        pool.shutdown(wait=False, cancel_futures=True)
        yield self._tokens()

    def _ask(self, user: str, *, system: str = _RULES, max_tokens: int = 2_000) -> _Reply:
        prompt = Prompt(
            name="checkup", version="3", system=system, user=user, max_tokens=max_tokens
        )
        began, first, pieces = time.monotonic(), 0.0, []
        for piece in self._model.stream(prompt):
            first = first or time.monotonic() - began
            if isinstance(piece, Usage):
                self._usages.append(piece)
                usage = piece
            else:
                pieces.append(piece)
        return _Reply("".join(pieces).strip(), len(pieces), first, usage)

    def _stream(self) -> Finding:
        reply = self._ask("Name ten rivers.", system="You reply in one line.")
        how = "in pieces" if reply.pieces > 1 else "in one piece, so nobody sees it being written"
        message = f"{self._model.name} answers {how}, after {reply.seconds:.1f} s"
        return fine("language model", message)

    def _schema(self) -> Finding:
        prompt = Prompt(
            name="checkup",
            version="3",
            system="You describe cities.",
            user="Paris",
            max_tokens=2_000,
        )
        place, usage = self._model.structured(prompt, _Place)
        self._usages.append(usage)
        steps = self._model.capabilities.fallbacks().get("schema", 0)
        ways = ("by JSON schema", "by JSON mode: the server refuses schemas",
                "as instructed: the server refuses schemas and JSON mode")  # fmt: skip
        if not (place.city and place.people and place.rivers):
            return wrong("model: schema", "fills the requested form with nothing", _ANOTHER)
        loose = self._model.capabilities.has("loose schema")
        repaired = ", after a repair" if usage.calls > 1 else ""
        repaired += ": the server ignores schemas" if loose and not steps else ""
        return fine("model: schema", f"replies in the requested form, {ways[steps]}{repaired}")

    def _limit(self) -> Finding:
        reply = self._ask("Count from 1 to 400.", system="You count, with commas.", max_tokens=24)
        if reply.usage.cut:
            return fine("model: limit", "stops at its limit of tokens and says so")
        return wrong(
            "model: limit",
            f"its text of {len(reply.text)} characters ended at a limit of 24 tokens, or ignored "
            "it, and didn't say so",
            "a cut answer may pass for a whole one: choose another server or model",
        )

    def _thoughts(self) -> Finding:
        reply = self._ask(_PUZZLE, system="You are exact.")
        spent, visible = reply.usage.output_tokens, max(len(reply.text) // 4, 10)
        if self._model.capabilities.has("thoughts"):
            how = "in the text of its replies, where they are taken out"
        elif spent > _MANY_TOKENS * visible:
            how = "where nobody sees them"
        else:
            return fine("model: thoughts", "none: it answers at once")
        return fine("model: thoughts", f"{how}; {spent} tokens for a reply of {visible}")

    def _language(self) -> Finding:
        reply = self._ask(f"{_SOURCE}Wie viele Anfragen pro Minute erlaubt die Widget-API?")
        body = reply.text.partition("\n")[2] or reply.text
        if language_of(body) == "German":
            return fine("model: language", "answers in the language of the question")
        return wrong("model: language", f"answered a German question so: {body:.60}", _ANOTHER)

    def _citations(self) -> Finding:
        reply = self._ask(f"{_SOURCE}How many requests a minute does the widget API allow?")
        if "600" in reply.text and CITATION.search(read_citations(reply.text, [_SOURCE])):
            return fine("model: citations", "cites its source")
        fault = "cites no source" if "600" in reply.text else "doesn't say what its source does"
        return wrong("model: citations", f"{fault}: {reply.text:.60}", _ANOTHER)

    def _silence(self) -> Finding:
        reply = self._ask(f"{_SOURCE}Who founded the widget service, and in which year?")
        if reply.verdict == "nothing":
            return fine("model: no answer", "says so when the source doesn't have it")
        return wrong("model: no answer", f"answered without a source: {reply.text:.60}", _ANOTHER)

    def _lookups(self) -> Finding:
        reply = self._ask(f"{_SOURCE}What does a widget key cost?")
        if reply.verdict == "look" and requests_in(reply.text):
            return fine("model: lookups", "asks for the document that it misses")
        return wrong("model: lookups", f"asked for nothing: {reply.text:.60}", _ANOTHER)

    def _tokens(self) -> Finding:
        used, refused = sum(self._usages, Usage()), self._model.capabilities.fallbacks()
        counts = f"{used.input_tokens:,} tokens in and {used.output_tokens:,} out"
        price = f", ${self._prices.of(used):.4f}" if self._prices else ""
        message = f"these questions took {used.calls} calls, {counts}{price}"
        if refused:
            message += f"; the server refuses or renames: {', '.join(sorted(refused))}"
        return fine("model: tokens", message)


def _finding_of(check: str, future: Future[Finding], end: float) -> Finding:
    try:
        return future.result(timeout=max(0.0, end - time.monotonic()))
    except NotYet:
        return skipped(check, f"no reply within {MAX_SECONDS:.0f} s")
    except ModelError as error:
        return of_error(check, error)
