"""Planted instructions against a model that obeys every one of them, and against none at all.

    python -m benchmarks.injection

Every attack, in every placement, asked about with the question that the same passage answers:
through loading, the graph and the rendering of a Slack message. An attack is acted upon when the
message, its sources or what streamed before it shows so. Each layer of defence is also measured
by itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from rich.console import Console

from agents.answer import Answer, Question
from agents.graph import build_ask
from agents.steps import Step
from benchmarks.material.golden_domains import ROOT, SHARED
from benchmarks.material.obedient_model import (
    ASKED,
    BENIGN,
    MANNERS,
    PLACEMENTS,
    REFUSED,
    Asked,
    Attack,
    Manner,
    Obedient,
    bipia_attacks,
    own_attacks,
    planted,
)
from bot.blocks.render import render
from config.chat_model import build_chat_model
from config.domain import AnswerPolicy, Domain, Sources
from config.models import ChatModel
from config.settings import Settings
from enrichment.language.words import sentences
from enrichment.pipeline import prepare
from enrichment.safety.grounding import GroundingFilter
from enrichment.safety.injection import addressing
from loaders.document import Document
from loaders.files.local import load_file
from loaders.files.markdown import parse_markdown
from playground.openai_stand_in import OpenAIStandIn
from tests.agents.memory import MemorySnapshot

DEMO = ROOT / "playground/demo"
DOMAIN = Domain(
    domain="security",
    title="Security help",
    sources=Sources(),
    answer=AnswerPolicy.model_validate({"effort": "standard"}),
)


@dataclass
class Shown:
    """What a user sees: the words that streamed, and then the message."""

    streamed: str = ""

    def step(self, step: Step, text: str, **scores: float) -> None:
        """Ours."""

    def delta(self, text: str) -> None:
        self.streamed += text


@dataclass(frozen=True, kw_only=True)
class Case:
    """One attack in one place."""

    attack: Attack
    asked: Asked
    placement: str
    manner: Manner = "added"


def cases(attacks: Sequence[Attack]) -> Iterator[Case]:
    """All placements of each; the manners of obedience one after the other."""
    for number, attack in enumerate(attacks):
        for place, placement in enumerate(PLACEMENTS):
            asked = ASKED[number % len(ASKED)]
            manner = MANNERS[(number + place) % len(MANNERS)]
            yield Case(attack=attack, asked=asked, placement=placement, manner=manner)


def all_attacks() -> list[Attack]:
    return [*own_attacks(), *bipia_attacks(SHARED, ASKED[0].evidence)]


def document(case: Case) -> Document:
    text = (DEMO / f"{case.asked.document}.md").read_text(encoding="utf-8")
    return parse_markdown(planted(text, case.asked, case.attack.text, case.placement), url="u")


def published(*documents: Document) -> MemorySnapshot:
    ready = [prepare(one, count_tokens=lambda text: len(text.split())) for one in documents]
    return MemorySnapshot([c for one in ready for c in one.chunks], [one.card for one in ready])


def answered(case: Case, model: ChatModel | None) -> tuple[Answer, str]:
    """The answer, and all that a user gets to see of it."""
    found, progress = published(document(case)), Shown()
    ask = build_ask(snapshot=lambda: found, domain=DOMAIN, model=model)
    answer = ask(Question(text=case.asked.question), progress)
    messages = render(answer, question_id="q")
    sent = [part for one in messages for part in (one.text, json.dumps(one.blocks, ensure_ascii=0))]
    quotes = [one.quote for one in answer.citations]
    return answer, "\n".join((progress.streamed, answer.text, *quotes, *sent))


def is_acted_upon(case: Case, answer: Answer, shown: str) -> bool:
    if case.attack.mark == REFUSED:
        return answer.found_nothing
    return case.attack.acted(shown)


def is_quoted(case: Case, shown: str) -> bool:
    """Without a model there is nobody to obey: the planted text itself must not be the answer."""
    return any(one in shown for one in sentences(case.attack.text) if len(one.split()) > 2)


class Model:
    """The obedient model behind its wire protocol, one attack after the other."""

    def __init__(self, server: OpenAIStandIn) -> None:
        self._server = server
        self._model = connected(server)

    def facing(self, case: Case, *, believes_fences: bool = False) -> ChatModel:
        self._server.script = Obedient(
            attack=case.attack,
            evidence=case.asked.evidence,
            manner=case.manner,
            believes_fences=believes_fences,
        )
        return self._model


@contextmanager
def obedient_model() -> Iterator[Model]:
    with OpenAIStandIn({}) as server:
        yield Model(server)


def connected(server: OpenAIStandIn) -> ChatModel:
    settings = Settings.model_validate(
        {"openai_api_key": "k", "openai_base_url": server.base_url, "chat_model": "obedient"}
    )
    model = build_chat_model(settings, retries=0)
    assert model is not None
    return model


def nothing_withheld(document: Document) -> tuple[Document, tuple[str, ...]]:
    return document, ()


@dataclass(frozen=True)
class Defence:
    """Which layers are on, and whether the model takes fences for what they are."""

    name: str
    detector: bool = True
    grounding: bool = True
    believes_fences: bool = False

    @contextmanager
    def on(self) -> Iterator[None]:
        with ExitStack() as off:
            if not self.detector:
                off.enter_context(patch("enrichment.pipeline.without_planted", nothing_withheld))
                for module in ("injection", "grounding"):
                    off.enter_context(patch(f"enrichment.safety.{module}.addressing", lambda _: ""))
                off.enter_context(patch("agents.query_optimizer.redacted", lambda text: text))
            if not self.grounding:
                off.enter_context(
                    patch("agents.answerer.model.GroundingFilter", lambda _: GroundingFilter(None))
                )
                off.enter_context(
                    patch("agents.query_optimizer.adds_little", lambda *_, **__: True)
                )
            yield


DEFENCES = (
    Defence("none", detector=False, grounding=False),
    Defence("fences, to a model that minds them", False, False, believes_fences=True),
    Defence("detector alone", grounding=False),
    Defence("grounding alone", detector=False),
    Defence("all"),
)


def acted_upon(defence: Defence, these: Sequence[Case]) -> list[Case]:
    found: list[Case] = []
    with defence.on(), obedient_model() as model:
        for case in these:
            answer, shown = answered(
                case, model.facing(case, believes_fences=defence.believes_fences)
            )
            if is_acted_upon(case, answer, shown):
                found.append(case)
    return found


def main() -> None:
    console = Console(width=110)
    these = list(cases(all_attacks()))
    asked = Counter(case.placement for case in these)
    for defence in DEFENCES:  # each takes minutes
        count = Counter(case.placement for case in acted_upon(defence, these))
        places = ", ".join(f"{count[place]} of {asked[place]} by {place}" for place in PLACEMENTS)
        console.print(f"defence: {defence.name}: acted upon {count.total()}: {places}")
    quoted = [case for case in these if is_quoted(case, answered(case, None)[1])]
    console.print(f"without a model: {len(quoted)} of {len(these)} are quoted as the answer")
    for name, texts in detected().items():
        told = Counter(map(addressing_of, texts))
        console.print(
            f"{name}: {told['planted']} kept out, {told['suspect']} suspect, of {len(texts)}"
        )


def detected() -> dict[str, list[str]]:
    """What the detector is to find, and what it is to leave alone."""
    bipia = bipia_attacks(SHARED, ASKED[0].evidence)
    kinds = list(dict.fromkeys(one.kind for one in bipia))
    found = {
        "own attacks": [one.text for one in own_attacks()],
        "BIPIA, kinds looked at": [one.text for one in bipia if one.kind in kinds[::2]],
        "BIPIA, other kinds": [one.text for one in bipia if one.kind in kinds[1::2]],
        "benign sentences that sound like it": BENIGN.read_text(encoding="utf-8").splitlines(),
    }
    for folder in sorted([*DEMO.iterdir(), *(SHARED / "corpus").glob("*")]):
        files = sorted(folder.glob("*.md"))
        if files:
            found[folder.name] = [one for file in files for one in statements(load_file(file))]
    return found


def statements(document: Document) -> Iterator[str]:
    for block in document.blocks:
        yield from sentences(block.text)
        for row in block.table.rows if block.table else ():
            for cell in dict.fromkeys(row):
                yield from sentences(cell.text)


def addressing_of(text: str) -> str:
    """The worst of its sentences."""
    told = {addressing(one) for one in sentences(text)}
    return next((one for one in ("planted", "suspect") if one in told), "")


if __name__ == "__main__":
    main()
