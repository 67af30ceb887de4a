"""Runs the cases of alerts and questions that came from elsewhere: a folder of documents, the words
of a product or a person, and what the reply to them has to say."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Engine

from agents.answer import Answer, Question
from agents.runbooks.answer import with_runbook_lookup
from agents.runbooks.matching import match_alerts, worth_answering
from bot.features.alerts.episodes import Occurrence, alert_message
from bot.features.alerts.service import occurrences
from bot.features.alerts.store import EpisodeStore
from bot.slack import events
from bot.slack.events import IncomingMessage
from config.domain import Domain
from config.settings import Settings
from index.search import Snapshot
from oncall import Copilot
from tests.loaders.reading import plain

BOT_USER = "U0COPILOT"
_STEPS = re.compile(r"step|action|what to do|runbook", re.IGNORECASE)
"""Heads of the columns that hold first steps."""
_PLACES = count()


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What comes of one message."""

    text: str = ""
    """Without signs of bold and code; empty where the desk leaves it to the agents."""
    answer: Answer | None = None
    occurrences: tuple[Occurrence, ...] = ()
    """What the desk counts; empty for a person's message."""

    @property
    def statuses(self) -> set[str]:
        return {one.status for one in self.occurrences}


LEFT_TO_AGENTS = Reply()


@dataclass(frozen=True)
class House:
    """A folder of documents, published."""

    copilot: Copilot
    name: str
    engine: Engine
    steps: set[str] = field(default_factory=set)
    """The first steps of all its entries."""

    @property
    def domain(self) -> Domain:
        return self.copilot.domains[self.name]

    @cached_property
    def snapshot(self) -> Snapshot:
        return self.copilot.index.snapshot(self.name)

    def reply_to(self, event: Mapping[str, Any]) -> Reply:
        """As the desk replies to a listed bot."""
        message = events.read(event, bot_user=BOT_USER, team="T0")
        assert isinstance(message, IncomingMessage)
        alert = alert_message(message, event)
        if alert is None:
            return LEFT_TO_AGENTS
        matches = match_alerts(alert.alerts, self.snapshot, self.domain)
        if not worth_answering(matches):
            return LEFT_TO_AGENTS
        found = tuple(one for one, _ in occurrences(alert, self.domain, matches))
        return self._answered(alert.message.text, found, by_bot=True)

    def reply_to_words(self, text: str) -> Reply:
        """As it replies to a person."""
        return self._answered(text, (), by_bot=False)

    def _answered(self, text: str, found: tuple[Occurrence, ...], *, by_bot: bool) -> Reply:
        left: list[Question] = []

        def agents(question: Question, _: Any = None) -> Answer:
            left.append(question)
            return cast("Answer", None)

        ask = with_runbook_lookup(self.domain, lambda: self.snapshot)(agents)
        answer = ask(Question(text=text, by_bot=by_bot), None)
        if left:
            return LEFT_TO_AGENTS
        return Reply(text=plain(answer.text), answer=answer, occurrences=found)

    def asked(self, text: str) -> str:
        """The whole answer without a model, and the passages below it."""
        answer = self.copilot.ask(self.name)(Question(text=text), None)
        told = (answer.text, *(one.text for one in answer.passages))
        return plain(" ".join(told))

    def are_one(self, replies: Sequence[Reply]) -> bool:
        """Whether the second message belongs to the episode that the first began."""
        store = EpisodeStore(self.engine)
        first, second = (
            [store.count(one).episode for one in reply.occurrences] for reply in replies
        )  # fmt: skip
        began = {one.id for one in first if one}
        return bool(began & {one.id for one in second if one})

    def other_steps(self, expected: Sequence[str]) -> Iterator[str]:
        for step in self.steps:
            if not any(one in step or step in one for one in expected):
                yield step


@dataclass(frozen=True)
class Case:
    house: House
    replies: Sequence[Reply]
    rows: Sequence[str]
    """Of all entries of the case that may be told together."""

    def problem(self, check: Mapping[str, Any]) -> str:
        """Empty where the one check holds."""
        ((kind, value),) = check.items()
        return "" if _CHECKS[kind](self, value) else f"{kind}: {value}"

    @property
    def reply(self) -> Reply:
        return self.replies[0]

    def says(self, text: str) -> bool:
        return plain(text) in self.reply.text

    def says_only(self, steps: Sequence[str], alone: Sequence[str]) -> bool:
        """These first steps, and none but those that may stand beside them."""
        others = self.house.other_steps([*map(plain, alone)])
        return all(map(self.says, steps)) and not any(map(self.says, others))

    def says_none(self) -> bool:
        return self.says("No runbook for") and not self.says("First step")

    def says_none_of(self, name: str) -> bool:
        sentence = rf"No runbook for {re.escape(plain(name))}[ .]"
        return bool(re.search(sentence, self.reply.text))

    def is_one_alert(self) -> bool:
        return self.house.are_one(self.replies)

    def cites(self, heading: str) -> bool:
        answer = self.reply.answer
        return answer is not None and any(heading in one.heading for one in answer.citations)


_CHECKS: Mapping[str, Callable[[Case, Any], bool]] = {
    "row": lambda one, step: one.says_only([step], one.rows),
    "open": lambda one, steps: one.says_only(steps, steps),
    "none": lambda one, name: one.says_none() and one.says_none_of(name),
    "none_at_all": lambda one, _: one.says_none(),
    "not_an_alert": lambda one, _: one.reply is LEFT_TO_AGENTS,
    "no_name": lambda one, name: not one.says_none_of(name),
    "status": lambda one, status: one.reply.statuses == {status},
    "not_status": lambda one, status: status not in one.reply.statuses,
    "same_alert": lambda one, same: (
        all(reply.occurrences for reply in one.replies) and one.is_one_alert() is same
    ),
    "answer": Case.says,
    "no_answer": lambda one, text: not one.says(text),
    "cites_heading": Case.cites,
    "any": lambda one, checks: not all(map(one.problem, checks)),
}


def problems(house: House, folder: Path, case: Mapping[str, Any]) -> list[str]:
    """What does not hold of an alert's case. Words whose speaker isn't said are tried as both."""
    files = case["input"] if isinstance(case["input"], list) else [case["input"]]
    paths = [folder / one for one in files]
    checks = [two for one in case["expect"] for two in (one, *one.get("any", ()))]
    rows = [plain(one["row"]) for one in checks if "row" in one]
    speakers = [case["by_bot"]] if "by_bot" in case else [True, False]
    if paths[0].suffix == ".json":
        speakers = [True]
    found: dict[str, None] = {}
    for by_bot in speakers:
        channel = f"C0PLACE{next(_PLACES)}"
        replies = [
            _reply(house, path, f"1795600{number:03}.000100", channel=channel, by_bot=by_bot)
            for number, path in enumerate(paths)
        ]
        tried = Case(house, replies, rows)
        told = " | ".join(one.text[:200] or "(to the agents)" for one in replies)
        wrong = [problem for one in case["expect"] if (problem := tried.problem(one))]
        found |= dict.fromkeys(f"{one} <- {told}" for one in wrong)
    return list(found)


def _reply(house: House, path: Path, ts: str, *, channel: str, by_bot: bool) -> Reply:
    text = path.read_text("utf-8")
    if not by_bot:
        return house.reply_to_words(text)
    fields = json.loads(text) if path.suffix == ".json" else {"text": text}
    posted = {"type": "message", "channel": channel, "ts": ts}
    return house.reply_to({**posted, "bot_id": "B0BEACON", **fields})


def first_steps(folder: Path, cases: Sequence[Mapping[str, Any]]) -> set[str]:
    """Of the tables of a folder's documents, and those that its cases name."""
    steps = {plain(one["row"]) for case in cases for one in case["expect"] if "row" in one}
    for file in folder.rglob("*.md"):
        head: list[str] = []
        for line in file.read_text("utf-8").splitlines():
            cells = [plain(one).strip() for one in line.strip().strip("|").split("|")]
            if not line.startswith("|"):
                head = []
            elif not head:
                head = cells
            else:
                steps |= {
                    cell.rstrip(".") for name, cell in zip(head, cells, strict=False)
                    if _STEPS.search(name) and len(cell) > 8 and not cell.startswith("--")
                }  # fmt: skip
    return steps


@contextmanager
def houses(
    folder: Path, kinds: Mapping[str, Sequence[Mapping[str, Any]]], at: Path
) -> Iterator[dict[str, House]]:
    """(kind/documents → house): each folder of documents is ingested once."""
    listed: dict[str, list[Mapping[str, Any]]] = {}
    for kind, cases in kinds.items():
        for case in cases:
            if "documents" in case:
                listed.setdefault(f"{kind}/{case['documents']}", []).append(case)
    domains = at / "domains"
    domains.mkdir()
    names = {place: f"h{number}" for number, place in enumerate(listed)}
    for place, name in names.items():
        shutil.copytree(folder / place, domains / name, copy_function=shutil.copyfile)
        (domains / f"{name}.yaml").write_text(
            f"domain: {name}\ntitle: {name}\nsources: {{files: [{name}]}}\n"
        )
    copilot = Copilot(Settings(_env_file=None, config_dir=at, data_dir=at / "var"))
    engine = copilot.index.engine
    try:
        for name in names.values():
            assert copilot.ingest(name).failed == ()
        yield {
            place: House(copilot, name, engine, first_steps(folder / place, listed[place]))
            for place, name in names.items()
        }
    finally:
        copilot.index.close()
