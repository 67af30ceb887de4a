"""Whether alerts find the row or heading that is for them, and whether it is said when none is.

    python -m benchmarks.alert_runbooks [FOLDER] [--each] [--without-peer]

FOLDER holds `documents/*.md`, `alerts.yaml` and `not_alerts.yaml` as in `material/alert_set`, which
is the default and was looked at while the rules were written. Messages marked `demo` are asked of
the demo's domains. The peer is what the agents answer, without a model, to the same messages.

*Right*: the row or heading that is expected, with all that somebody on call has to be shown of it;
or, where none is for the alert, that there is no runbook; or, where the alert leaves several open,
all of them to choose from. *Wrong*: another row or heading as the answer. *Asked which* where one
was expected, and *missed*, "no runbook" where there is one, are neither; nor are *passages* that
the agents show to read. Intervals: 95%, Wilson."""

from __future__ import annotations

import argparse
import html
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from agents.alerts.reader import alerts_in
from agents.answer import Answer, Ask, Question
from agents.graph import build_ask
from agents.runbooks.matching import match_alerts, worth_answering
from benchmarks.material.asked_sets import DEMO, ROOT, AskedSet, named_set, written
from benchmarks.with_a_model import copilot_of, ingest
from config.minilm import MiniLM
from jobs.evaluation.metrics.stats import wilson
from oncall import Copilot

OWN_SET = Path(__file__).parent / "material/alert_set"
OUTCOMES = ("right", "not all shown", "asked which", "missed", "passages", "wrong")
_MARKS = re.compile(r"[`*]|\]\([^()\s]*\)|[\[\]]")
_SEVERAL = re.compile(r"has \d+ entries: ")


@dataclass(frozen=True)
class Message:
    id: str
    product: str
    documents: str
    domain: str
    text: str
    by_bot: bool
    expect: Mapping[str, Any]

    @property
    def set(self) -> str:
        return f"{self.documents}: {self.domain}" if self.documents == "demo" else self.documents


def messages_of(file: Path) -> Iterator[Message]:
    """Of `alerts.yaml`."""
    for one in yaml.safe_load(file.read_text("utf-8")):
        yield Message(
            id=one["id"], product=one.get("product", ""), documents=one["documents"],
            domain=one.get("domain", "own"), text=one["text"],
            by_bot=one.get("product", "pasted_by_person") != "pasted_by_person",
            expect=one["expect"] if isinstance(one["expect"], dict) else {},
        )  # fmt: skip


def judged(answer: Answer, expect: Mapping[str, Any]) -> str:
    """One of OUTCOMES; by what is shown, whoever answered."""
    shown = "\n".join((answer.text, *(one.quote for one in answer.citations)))
    if answer.path == "passages_found":
        return "passages"
    if answer.found_nothing:
        return "right" if expect.get("no_runbook") else "missed"
    if rows := expect.get("which"):
        listed = bool(_SEVERAL.search(answer.text)) and all(_cites(answer, one) for one in rows)
        return "right" if listed else "wrong"
    if _SEVERAL.search(answer.text):
        return "asked which"
    if expect.get("no_runbook"):
        return "wrong"
    place = expect["place"]
    places = [place, *expect.get("also_right", place.get("also_right", ()))]
    cited = [one for one in places if _cites(answer, one)]
    if not cited:
        return "wrong"
    complete = any(all(_plain(s) in _plain(shown) for s in one["must_show"]) for one in cited)
    return "right" if complete else "not all shown"


def _cites(answer: Answer, place: Mapping[str, Any]) -> bool:
    """Whether it cites this row, or words of this section."""
    wanted = [_plain(str(cell)) for cell in place.get("row") or ()]
    headings = {_plain(place["heading"]), _plain(place["heading"].split(":")[-1])}
    for one in answer.citations:
        same = _plain(one.title) == _plain(place["document"])
        cells = {_plain(cell) for cell in one.quote.split(" | ")}
        if same and wanted and cells.issuperset(wanted):
            return True
        if same and not wanted and _plain(one.heading) in headings:
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", html.unescape(text)).split()).casefold()


def table_of(
    title: str, judgements: Sequence[tuple[Message, str]], by: Callable[[Message], str]
) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("", "alerts", *OUTCOMES, "right, 95%", "wrong, 95%"):
        table.add_column(column, justify="right" if column else "left")
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for message, outcome in judgements:
        groups[by(message)][outcome] += 1
        groups["all"][outcome] += 1
    for name in sorted(groups, key=lambda one: (one == "all", one)):
        counts, total = groups[name], groups[name].total()
        spans = (wilson(counts[one], total) for one in ("right", "wrong"))
        table.add_row(
            name, str(total), *(str(counts[one]) for one in OUTCOMES),
            *(f"{low:.2f}–{high:.2f}" for low, high in spans),
        )  # fmt: skip
    return table


def opened(folder: Path, data: Path) -> Copilot:
    """The folder's documents as the domain `own`, and the demo's three; no model."""
    own = AskedSet("own", (folder.resolve() / "documents",), (), "own", {"title": "Help on call"})
    sets = [own, *map(named_set, DEMO)]
    config = written(sets, data, {})
    ingest([one.domain for one in sets], data, config)
    return copilot_of(data, config, MiniLM())


def peers_of(copilot: Copilot) -> Callable[[str], Ask]:
    """The agents, asked as if nobody had told them of alerts."""

    def peer(name: str) -> Ask:
        snapshot = copilot.snapshot(name)
        return build_ask(snapshot=lambda: snapshot, domain=copilot.domain(name), model=None)

    return peer


def report(folder: Path, copilot: Copilot, console: Console, *, each: bool, peer: bool) -> None:
    messages = list(messages_of(folder / "alerts.yaml"))
    asking = partial(copilot.ask, unattended=True)
    asked = [
        (one, asking(one.domain)(Question(text=one.text, by_bot=one.by_bot), None))
        for one in messages
    ]
    judgements = [(one, judged(answer, one.expect)) for one, answer in asked]
    if each:
        for (message, answer), (_, outcome) in zip(asked, judgements, strict=True):
            if outcome != "right":
                console.print(f"{message.id} {outcome}\n{answer.text}\n", markup=False)
    console.print(table_of("by product", judgements, lambda one: one.product))
    console.print(table_of("by documents", judgements, lambda one: one.set))
    if peer:
        ask = {name: peers_of(copilot)(name) for name in {one.domain for one in messages}}
        answers = [(one, ask[one.domain](Question(text=one.text), None)) for one in messages]
        others = [(one, judged(answer, one.expect)) for one, answer in answers]
        placed = [
            (one.expect["place"]["must_show"], _plain(answer.text))
            for one, answer in answers
            if answer.path == "passages_found" and "place" in one.expect
        ]
        held = sum(all(_plain(said) in text for said in wanted) for wanted, text in placed)
        console.print(
            f"of {len(placed)} that got passages and have a row, {held} can read it there, among "
            f"others"
        )
        console.print(table_of("the agents without a model", others, lambda one: one.product))
    if (folder / "not_alerts.yaml").exists():
        report_others(list(messages_of(folder / "not_alerts.yaml")), copilot, console)


def report_others(messages: Sequence[Message], copilot: Copilot, console: Console) -> None:
    """Messages that are no alert, or ask something about one, have to be left to the agents: of a
    person, as they are, and as if a bot on the list had posted them."""
    for by_bot, whose in ((False, "people's"), (True, "as if of a bot on the list")):
        taken = []
        for one in messages:
            alerts = alerts_in(one.text, by_bot=by_bot)
            found = match_alerts(alerts, copilot.snapshot(one.domain), copilot.domain(one.domain))
            if found and worth_answering(found):
                taken.append(one.id)
        low, high = wilson(len(messages) - len(taken), len(messages))
        console.print(
            f"no alerts, left to the agents, {whose}: {len(messages) - len(taken)} of "
            f"{len(messages)} ({low:.2f}–{high:.2f}){': not ' if taken else ''}{', '.join(taken)}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=OWN_SET)
    parser.add_argument("--each", action="store_true", help="show each answer that isn't right")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--data", type=Path, default=ROOT / "var/benchmarks/alerts")
    arguments = parser.parse_args()
    copilot = opened(arguments.folder, arguments.data.resolve())
    report(
        arguments.folder, copilot, Console(width=120),
        each=arguments.each, peer=not arguments.without_peer,
    )  # fmt: skip
    copilot.index.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
