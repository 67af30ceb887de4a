"""No dead switch: each setting, changed alone in the environment, changes what the product does.

A setting that is added fails here until `PROBES` says how its effect is seen."""

from __future__ import annotations

import gc
import hashlib
import hmac
import io
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, redirect_stderr, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
import structlog
from fastapi.testclient import TestClient
from pydantic import BaseModel
from sqlalchemy import insert, select
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from agents.answer import Question
from agents.judging.judge import AnswerJudge, JudgeRequest
from agents.ledger.ledger import QuestionOrigin
from bot.connection import connect
from bot.questions.tables import ExplanationRow
from cli.setup.checks import all_problems
from config.embeddings import BATCH_TEXTS, build_embedder
from config.errors import CopilotError
from config.models import Prompt, Usage, Vectors
from config.settings import Settings, read_settings
from durable.database import now
from enrichment.llm.budget import BudgetSpent
from index.audit import AuditEntry, days_ago
from loaders.google.drive.source import open_drive
from oncall import Copilot
from playground.google.memory_drive import FOLDER
from playground.google_stand_in import GoogleStandIn, StoredFile
from playground.openai_stand_in import ModelFault, OpenAIStandIn, Request
from playground.slack_stand_in import SlackStandIn
from telemetry.metrics import exposition
from telemetry.tracing import carried, span
from tests.api.front import here
from tests.cross_encoder import tiny_cross_encoder
from tests.databases import postgresql_database
from tests.loaders.google.source import Clock
from tests.loaders.langchain import loaders_of_ours

WIKI = f"{loaders_of_ours.__name__}:Wiki"
BOSS, TASTERS = "boss@tidewater.example", "tasters@tidewater.example"
DOMAIN = "domain: {name}\ntitle: Tea help\nchannels: [C0SECURITY]\nsources: {sources}\n"
FILES = "{files: [tea.md]}"
DRIVE = "{google_drive: {folders: [shelf]}}"


@dataclass
class Town:
    """Two of every server, so that an address matters."""

    folder: Path
    places: Mapping[str, str]
    """Name → what `{name}` stands for in a probe's values."""
    servers: Mapping[str, OpenAIStandIn]


def plan(request: Request) -> str | dict[str, object]:
    if request.name == "plan":
        return {"question": "", "kind": "in_domain"}
    return {"documents": []} if request.name == "sources" else "NO_ANSWER"


def shelf(*names: str) -> list[StoredFile]:
    group = {"id": "g", "type": "group", "emailAddress": TASTERS}
    documents = [
        StoredFile(id=n, name=n, parents=("shelf",), content=f"# {n}\n", permissions=(group,))
        for n in names
    ]
    return [StoredFile(id="shelf", name="Shelf", mime_type=FOLDER), *documents]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    for name, sources in (("tea", FILES), ("drive", DRIVE)):
        domains = folder / name / "domains"
        domains.mkdir(parents=True)
        (domains / f"{name}.yaml").write_text(DOMAIN.format(name=name, sources=sources))
        (domains / "tea.md").write_text("# Tea\n\nTea steeps for two minutes.\n")
    with (
        SlackStandIn() as slack,
        SlackStandIn() as other_slack,
        GoogleStandIn(
            shelf("oolong", "sencha", "assam"),
            delegates=[BOSS],
            groups={TASTERS: [BOSS]},
            groups_admins=[BOSS],
        ) as google,
        GoogleStandIn(shelf("rooibos"), delegates=[BOSS]) as other_google,
        OpenAIStandIn(plan) as server,
        OpenAIStandIn(plan) as other_server,
    ):
        yield Town(
            folder,
            {
                "folder": str(folder),
                "bot_token": slack.bot_token,
                "app_token": slack.app_token,
                "slack": slack.api_url,
                "other_slack": other_slack.api_url,
                "google": google.url,
                "other_google": other_google.url,
                "key": str(google.write_credentials(folder / "key.json")),
                "server": server.base_url,
                "other_server": other_server.base_url,
            },
            {"server": server, "other_server": other_server},
        )


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Two values of a setting, and where their difference shows; None leaves it out."""

    one: str | None
    other: str | None
    observe: Callable[[Town, Settings], object]
    besides: Mapping[str, str] = field(default_factory=dict)
    """Settings that both runs share."""


def outcome(act: Callable[[], object]) -> object:
    """What comes of it, or the error that a user would read."""
    try:
        return act()
    except CopilotError as error:
        return str(error)


# What the probes look at.


def team(town: Town, settings: Settings) -> object:
    return outcome(lambda: Copilot(settings).bot().identity.team)


def socket(town: Town, settings: Settings) -> object:
    def act() -> object:
        mode = connect(Copilot(settings).bot().app, settings)
        connected = mode.is_connected()
        mode.close()
        return connected

    return outcome(act)


def signed_event(town: Town, settings: Settings) -> object:
    """Status of an event that is signed with `shared`."""
    body = json.dumps({"type": "url_verification", "challenge": "tea"})
    moment = str(int(time.time()))
    digest = hmac.new(b"shared", f"v0:{moment}:{body}".encode(), hashlib.sha256).hexdigest()
    headers = {
        "content-type": "application/json",
        "x-slack-request-timestamp": moment,
        "x-slack-signature": f"v0={digest}",
    }
    client = TestClient(Copilot(settings).api(slack=True))
    return client.post("/slack/events", content=body, headers=headers).status_code


def model_calls(town: Town, settings: Settings) -> object:
    """Server, key and model of every call that a question makes."""
    copilot = Copilot(settings)
    for server in town.servers.values():
        server.requests.clear()

    def act() -> object:
        copilot.ingest("tea")
        return copilot.ask("tea")(Question(text="how long does tea steep?"), None).degraded

    degraded = outcome(act)
    calls = {
        (name, one.authorization, one.body["model"])
        for name, server in town.servers.items()
        for one in server.requests
    }
    return degraded, sorted(calls)


def calls_of_a_slow_model(town: Town, settings: Settings) -> object:
    """How many are made for a question when each reply takes a quarter of a second."""
    server, copilot = town.servers["server"], Copilot(settings)
    copilot.ingest("tea")
    server.requests.clear()
    server.faults += [ModelFault(kind="slow", seconds=0.25)] * 20
    asked = {"query": "how long does tea steep?", "domain": "tea"}
    answer = here(copilot.api(slack=False)).post("/api/agentic_qna", json=asked)
    server.faults.clear()
    return answer.status_code, len(server.requests)


def vision_calls(town: Town, settings: Settings) -> object:
    """Model of each call that a picture makes."""
    model = Copilot(settings).models.vision
    for server in town.servers.values():
        server.requests.clear()
    prompt = Prompt(name="p", version="1", system="Look.", user="See?", max_tokens=9)
    if model is not None:
        outcome(lambda: list(model.stream(prompt)))
    return [one.body["model"] for server in town.servers.values() for one in server.requests]


def judge_calls(town: Town, settings: Settings) -> object:
    """Model of each call that a verdict makes."""
    model = Copilot(settings).judge_model
    assert model is not None
    for server in town.servers.values():
        server.requests.clear()
    request = JudgeRequest(id="tea-001", kind="lookup", question="how long?", answer="Two minutes.")
    outcome(lambda: AnswerJudge(model=model)(request))
    return [one.body["model"] for server in town.servers.values() for one in server.requests]


def from_drive(town: Town, settings: Settings) -> object:
    """What is read from Drive, or why it is not."""

    def act() -> object:
        report = Copilot(settings).ingest("drive")
        return sorted(report.added), [str(failure) for failure in report.failed]

    return outcome(act)


def closed_groups(town: Town, settings: Settings) -> object:
    """Groups that open nothing."""
    copilot = Copilot(settings)
    copilot.ingest("drive")
    return dict(copilot.groups.closed(copilot.domain("drive"), {TASTERS}))


def commented(town: Town, settings: Settings) -> object:
    """What becomes of what an owner accepts."""

    def act() -> object:
        desk = Copilot(settings).documents.owners
        return (
            desk and desk.comment("oolong", mark="[m]", content="Steep it [m]", quoted="").outcome
        )

    return outcome(act)


def google_pauses(town: Town, settings: Settings) -> object:
    """Seconds waited while three documents are read."""
    clock = Clock()
    source = Copilot(settings).domain("drive").sources.google_drive
    with open_drive(settings, clock=clock, sleep=clock.sleep) as drive:
        for file in drive.sync(source, cursor="", indexed={}).changed:
            drive.load(file)
    return sum(clock.pauses)


class SlowModel:
    """Counts its requests, and the most of them in flight at once.

    A request waits for a second one, which a busy machine may start late; after one waited in vain
    none waits again."""

    name = "slow"

    def __init__(self) -> None:
        self.asked = self.at_work = self.most_at_work = 0
        self._lock = threading.Lock()
        self._together, self._waits = threading.Event(), True

    def structured(self, prompt: Prompt, reply: type[Said]) -> tuple[Said, Usage]:
        with self._lock:
            self.asked += 1
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
            if self.at_work > 1:
                self._together.set()
        if self._waits:
            self._waits = self._together.wait(3)
        with self._lock:
            self.at_work -= 1
        return reply(), Usage(calls=1, input_tokens=1_000, output_tokens=100)


class Said(BaseModel):
    word: str = "tea"


def enriched(town: Town, settings: Settings) -> object:
    """Of three requests side by side: how many were made, how many at once, seconds waited."""
    budget, model, waits = (
        Copilot(settings).documents.enrichment_budget("run"),
        SlowModel(),
        list[float](),
    )
    budget._sleep = waits.append
    prompt = Prompt(name="enrich", version="1", system="s", user="u", max_tokens=10)

    def ask(_: int) -> None:
        with suppress(BudgetSpent):
            budget.ask(model, prompt, Said)  # type: ignore[arg-type]

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(ask, range(3)))
    return model.asked, model.most_at_work > 1, sum(waits) > 1


def embedded_side_by_side(town: Town, settings: Settings) -> object:
    """Of two requests: whether they were in flight at the same time."""
    embedder, slow = build_embedder(settings), SlowModel()
    prompt = Prompt(name="embed", version="1", system="s", user="u", max_tokens=10)

    def embed(texts: Sequence[str]) -> Vectors:
        slow.structured(prompt, Said)
        return np.ones((len(texts), 2), dtype=np.float32)

    embedder._embed = embed  # type: ignore[attr-defined]
    embedder(["tea"] * 2 * BATCH_TEXTS)
    return slow.most_at_work > 1


def reranked(town: Town, settings: Settings) -> object:
    copilot = Copilot(settings)
    copilot.ingest("tea")
    return copilot.retrieve("tea", "how long does tea steep?", pipeline="rerank")["reranked"]


def entailed(town: Town, settings: Settings) -> object:
    entails = Copilot(settings).models.entails
    return entails is not None and len(entails([("keys are rotated", "keys rotated")]) or ())


def search_libraries(town: Town, settings: Settings) -> object:
    """The libraries that publish and search: all engines rank alike, so only this tells them
    apart."""
    copilot = Copilot(settings)
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            ran.add(str(frame.f_globals.get("__name__", "")).partition(".")[0])

    gc.collect()  # or what another run left would be finalized, and noted, in this one
    sys.setprofile(note)
    try:
        copilot.ingest("tea")
        copilot.retrieve("tea", "how long does tea steep?")
    finally:
        sys.setprofile(None)
    return sorted(ran & {"chromadb", "rank_bm25"})


def from_this_machine(settings: Settings, *paths: str, token: str = "") -> list[int]:
    """Status of each request, in turn."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    client = here(Copilot(settings).api(slack=False), headers=headers)
    return [client.get(path).status_code for path in paths]


def open_to_all(town: Town, settings: Settings) -> object:
    Copilot(settings).ingest("tea")
    return from_this_machine(settings, "/api/documents")


def page_links(town: Town, settings: Settings) -> object:
    copilot = Copilot(settings)
    copilot.ingest("tea")
    return [card.url for card in copilot.index.snapshot("tea").documents.values()]


def sign_in(town: Town, settings: Settings) -> object:
    return outcome(lambda: Copilot(settings).api(slack=False).title)


def repeated(town: Town, settings: Settings) -> object:
    return from_this_machine(settings, *["/openapi.json"] * 3, token="secret")


def docs(town: Town, settings: Settings) -> object:
    return from_this_machine(settings, "/docs", "/openapi.json")


def started_tools(town: Town, settings: Settings) -> object:
    """What becomes of a domain file that names a command as a server of tools."""
    shutil.copytree(town.folder / "tea", settings.data_dir / "config", dirs_exist_ok=True)
    path = settings.data_dir / "config" / "domains" / "tea.yaml"
    tools = "tools: [{name: Rota, what: who is on call, allow: [on_call], command: [rota]}]\n"
    path.write_text(path.read_text() + tools)
    own = settings.model_copy(update={"config_dir": settings.data_dir / "config"})
    told = outcome(lambda: sorted(Copilot(own).domains))
    return str(told).replace(str(settings.data_dir), "")


def figures(town: Town, settings: Settings) -> object:
    return from_this_machine(settings, "/metrics")


def published(town: Town, settings: Settings) -> object:
    """What an ingestion leaves behind in one folder, or why it fails."""
    shutil.rmtree(town.folder / "kept", ignore_errors=True)

    def act() -> object:
        Copilot(settings).ingest("tea")
        return sorted(path.name for path in (town.folder / "kept").glob("*"))

    return outcome(act)


def ingested_by_sessions(town: Town, settings: Settings) -> object:
    """Why an ingestion fails, which locks its domain in a session past any pooler."""

    def act() -> object:
        with closing(Copilot(settings).index) as index, index.stage("tea") as staging:
            return staging.commit({}).documents

    return outcome(act)


def connections_at_once(town: Town, settings: Settings) -> object:
    """Whether three threads find a connection of the pool."""
    with closing(Copilot(settings).index) as index, ExitStack() as held:
        index.engine.pool._timeout = 0.01  # type: ignore[attr-defined]
        try:
            for _ in range(3):
                held.enter_context(index.engine.connect())
        except NoFreeConnection:
            return False
        return True


def open_indexes(town: Town, settings: Settings) -> object:
    """How many of two domains stay open when both are asked."""
    index = Copilot(settings).index
    for name in ("one", "two"):
        with index.stage(name) as staging:
            staging.commit({})
        index.snapshot(name)
    return [line for line in exposition().decode().splitlines() if "loaded_domains " in line]


def audited(town: Town, settings: Settings) -> object:
    """What the audit log still knows when a hundred days are purged."""
    copilot = Copilot(settings)
    shown = AuditEntry(door="channel", domain="tea", generation=1, documents={"cited": ["tea"]})
    copilot.audit.record(shown, at=days_ago(100))
    copilot.privacy.purge()
    return len(list(copilot.audit.export()))


def retired(town: Town, settings: Settings) -> object:
    """How many generations are there ten hours after the last document was deleted."""
    copilot = Copilot(settings)
    copilot.ingest("tea")
    with copilot.index.stage("tea") as staging:
        for document in staging.documents:
            staging.remove(document)
        staging.commit({})
    copilot.index.retire(at=datetime.now(UTC) + timedelta(hours=10))
    return len(copilot.index.generations("tea"))


def explained(town: Town, settings: Settings) -> object:
    """How many explanations of a hundred days ago outlive a purge."""
    copilot = Copilot(settings)
    copilot.privacy.purge()  # makes the tables
    old = {"question_id": "C1:1.0", "at": now() - timedelta(days=100), "explanation": "{}"}
    with copilot.index.engine.begin() as connection:
        connection.execute(insert(ExplanationRow).values(old))
    copilot.privacy.purge()
    with copilot.index.engine.connect() as connection:
        return len(connection.execute(select(ExplanationRow)).all())


def ingested_tea(town: Town, settings: Settings) -> object:
    """What an ingestion reads, and gives up."""
    report = Copilot(settings).ingest("tea")
    return report.added, [str(failure) for failure in report.failed]


def ingested_wiki(town: Town, settings: Settings) -> object:
    """What a class of LangChain brings, and why it doesn't."""
    config = town.folder / "wiki"
    (config / "domains").mkdir(parents=True, exist_ok=True)
    sources = "{loader: {name: wiki, readers: everyone}}"
    (config / "domains/tea.yaml").write_text(DOMAIN.format(name="tea", sources=sources))
    return ingested_tea(town, settings.model_copy(update={"config_dir": config}))


def logged(settings: Settings, act: Callable[[Copilot], object]) -> str:
    """What is logged meanwhile."""
    with redirect_stderr(io.StringIO()) as written:
        act(Copilot(settings))
    return written.getvalue()


def warned(town: Town, settings: Settings) -> object:
    """The beginning of a warning's line, which is empty where none is written."""
    return logged(settings, lambda _: structlog.get_logger().warning("the kettle is old"))[:1]


def question_line(town: Town, settings: Settings) -> object:
    """Whether the line of a question tells its words, and what it cost."""

    def act(copilot: Copilot) -> None:
        copilot.ingest("tea")
        text = "how long does tea steep?"
        copilot.answering(
            QuestionOrigin(id="tea-001", door="cli", text=text),
            [copilot.domain("tea")],
            lambda domain: Question(text=text),
            lambda domain, question: copilot.ask(domain.domain)(question, None),
        )

    line = logged(settings, act)
    return "how long does" in line, "cost_dollars" in line


def traced(town: Town, settings: Settings) -> object:
    Copilot(settings)
    with span("a cup of tea"):
        return bool(carried())


def rota_problems(town: Town, settings: Settings) -> object:
    """What is wrong with a rota outside the configuration folder, and with one by http."""
    home, elsewhere = settings.config_dir / "domains", town.folder / "elsewhere"
    home.mkdir(parents=True, exist_ok=True)
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "rota.yaml").write_text("- {from: 2026-11-02, to: 2026-11-09, user: U0INES}")
    (town.folder / "rotas" / "domains" / "tea.md").write_text("# Tea")
    levels = "levels: [{rota: http://rotas.example/x, after_minutes: 5}]"
    rota = f"escalation: {{rota: {elsewhere}/rota.yaml, {levels}}}\n"
    (home / "tea.yaml").write_text(DOMAIN.format(name="tea", sources=FILES) + rota)
    return list(map(str, all_problems(settings)[1]))


def domains(town: Town, settings: Settings) -> object:
    return list(Copilot(settings).domains)


SLACK = {
    "SLACK_BOT_TOKEN": "{bot_token}",
    "SLACK_APP_TOKEN": "{app_token}",
    "SLACK_API_URL": "{slack}",
}
GOOGLE = {
    "GOOGLE_APPLICATION_CREDENTIALS": "{key}",
    "GOOGLE_API_URL": "{google}",
    "ONCALL_CONFIG_DIR": "{folder}/drive",
}
POSTGRESQL = {"DATABASE_URL": "{postgresql}"}
ROTAS = {"ONCALL_CONFIG_DIR": "{folder}/rotas"}
MODEL = {"ONCALL_CHAT_MODEL": "scripted", "OPENAI_API_KEY": "k"}

PROBES = {
    "SLACK_BOT_TOKEN": Probe(one="{bot_token}", other="xoxb-wrong", observe=team, besides=SLACK),
    "SLACK_APP_TOKEN": Probe(one="{app_token}", other="xapp-wrong", observe=socket, besides=SLACK),
    "SLACK_SIGNING_SECRET": Probe(
        one="shared", other="another", observe=signed_event, besides=SLACK
    ),
    "SLACK_CLIENT_ID": Probe(
        one=None,
        other="1.2",
        observe=page_links,
        besides={"ONCALL_PUBLIC_URL": "https://copilot.example.com"},
    ),
    "SLACK_CLIENT_SECRET": Probe(
        one=None,
        other="secret-secret",
        observe=sign_in,
        besides={
            **SLACK,
            "SLACK_CLIENT_ID": "1.2",
            "ONCALL_PUBLIC_URL": "https://copilot.example.com",
        },
    ),
    "SLACK_API_URL": Probe(one="{slack}", other="{other_slack}", observe=team, besides=SLACK),
    "OPENAI_API_KEY": Probe(one="k", other="another", observe=model_calls, besides=MODEL),
    "OPENAI_BASE_URL": Probe(
        one="{server}", other="{other_server}", observe=model_calls, besides=MODEL
    ),
    "ONCALL_CHAT_MODEL": Probe(one="scripted", other=None, observe=model_calls, besides=MODEL),
    "ONCALL_MODEL_SECONDS": Probe(
        one="30", other="0.2", observe=calls_of_a_slow_model, besides=MODEL
    ),
    "ONCALL_VISION_MODEL": Probe(one=None, other="seer", observe=vision_calls, besides=MODEL),
    "ONCALL_JUDGE_MODEL": Probe(one=None, other="stricter", observe=judge_calls, besides=MODEL),
    "ONCALL_EMBEDDINGS_AT_ONCE": Probe(one="4", other="1", observe=embedded_side_by_side),
    "ONCALL_EMBEDDING_MODEL": Probe(one="hashed", other="another", observe=model_calls),
    "ONCALL_ENTAILMENT_MODEL": Probe(
        one=None, other="{folder}/ONCALL_ENTAILMENT_MODEL", observe=entailed
    ),
    "ONCALL_CROSS_ENCODER": Probe(
        one=None, other="{folder}/ONCALL_CROSS_ENCODER", observe=reranked
    ),
    "ONCALL_KEYWORDS": Probe(one="bm25s", other="rank_bm25", observe=search_libraries),
    "ONCALL_VECTORS": Probe(one="local", other="chroma", observe=search_libraries),
    "GOOGLE_APPLICATION_CREDENTIALS": Probe(
        one="{key}", other="{folder}/none.json", observe=from_drive, besides=GOOGLE
    ),
    "GOOGLE_DELEGATE": Probe(
        one=BOSS, other="nobody@tidewater.example", observe=from_drive, besides=GOOGLE
    ),
    "GOOGLE_API_URL": Probe(
        one="{google}", other="{other_google}", observe=from_drive, besides=GOOGLE
    ),
    "GOOGLE_GROUPS_ADMIN": Probe(
        one=BOSS, other="nobody@tidewater.example", observe=closed_groups, besides=GOOGLE
    ),
    "GOOGLE_COMMENTS": Probe(one="on", other=None, observe=commented, besides=GOOGLE),
    "GOOGLE_READS_PER_MINUTE": Probe(one="300", other="10", observe=google_pauses, besides=GOOGLE),
    "ONCALL_API_TOKEN": Probe(one=None, other="secret", observe=open_to_all),
    "ONCALL_API_REQUESTS_PER_MINUTE": Probe(
        one="120", other="2", observe=repeated, besides={"ONCALL_API_TOKEN": "secret"}
    ),
    "ONCALL_API_DOCS": Probe(one=None, other="true", observe=docs),
    "ONCALL_PUBLIC_URL": Probe(one=None, other="http://localhost:8080", observe=page_links),
    "ONCALL_METRICS": Probe(
        one="token", other="open", observe=figures, besides={"ONCALL_API_TOKEN": "secret"}
    ),
    "ONCALL_TOOL_COMMANDS": Probe(one=None, other="on", observe=started_tools),
    "ONCALL_DOCUMENT_SECONDS": Probe(one="120", other="0.0001", observe=ingested_tea),
    "DATABASE_URL": Probe(
        one=None, other="postgresql://nobody@127.0.0.1:9/none", observe=published
    ),
    "DATABASE_DIRECT_URL": Probe(
        one=None,
        other="postgresql://nobody@127.0.0.1:9/none",
        observe=ingested_by_sessions,
        besides=POSTGRESQL,
    ),
    "ONCALL_DATABASE_CONNECTIONS": Probe(
        one="10", other="5", observe=connections_at_once, besides=POSTGRESQL
    ),
    "CHROMA_URL": Probe(one=None, other="http://127.0.0.1:9", observe=published),
    "ONCALL_INDEX_STORE": Probe(one=None, other="file://{folder}/kept/store", observe=published),
    "ONCALL_INDEX_MEMORY_MB": Probe(one=None, other="0.0001", observe=open_indexes),
    "ONCALL_OPEN_DOMAINS": Probe(one=None, other="1", observe=open_indexes),
    "ONCALL_DELETED_TEXT_HOURS": Probe(one="24", other="1", observe=retired),
    "ONCALL_EXPLANATION_DAYS": Probe(one="14", other="400", observe=explained),
    "ONCALL_AUDIT_DAYS": Probe(one="90", other="400", observe=audited),
    "ONCALL_LOG_LEVEL": Probe(one="info", other="error", observe=warned),
    "ONCALL_LOG_FORMAT": Probe(one="json", other="console", observe=warned),
    "ONCALL_LOG_WORDS": Probe(one=None, other="on", observe=question_line),
    "ONCALL_PRICES": Probe(one=None, other="0.25/2.00", observe=question_line),
    "ONCALL_TRACES": Probe(one=None, other="http://127.0.0.1:9", observe=traced),
    "ONCALL_ENRICH_AT_ONCE": Probe(one="8", other="1", observe=enriched),
    "ONCALL_ENRICH_PER_MINUTE": Probe(one="0", other="6", observe=enriched),
    "ONCALL_ENRICH_CALLS": Probe(one="9", other="1", observe=enriched),
    "ONCALL_ENRICH_TOKENS": Probe(one="9000", other="0", observe=enriched),
    "ONCALL_ENRICH_DOLLARS": Probe(
        one="9", other="0", observe=enriched, besides={"ONCALL_PRICES": "1/1"}
    ),
    "ONCALL_CONFIG_DIR": Probe(one="{folder}/tea", other="{folder}/drive", observe=domains),
    "ONCALL_FOLDERS": Probe(
        one=None, other="{folder}/elsewhere", observe=rota_problems, besides=ROTAS
    ),
    "ONCALL_LOADERS": Probe(one="wiki=no.such:Wiki", other=f"wiki={WIKI}", observe=ingested_wiki),
    "ONCALL_LOADER_SECONDS": Probe(
        one="30", other="0.001", observe=ingested_wiki, besides={"ONCALL_LOADERS": f"wiki={WIKI}"}
    ),
    "ONCALL_INNER_HOSTS": Probe(
        one=None, other="Rotas.example, other", observe=rota_problems, besides=ROTAS
    ),
    "ONCALL_DATA_DIR": Probe(one="{folder}/kept", other="{folder}/elsewhere", observe=published),
}


LABELS = {
    "ONCALL_CROSS_ENCODER": (),
    "ONCALL_ENTAILMENT_MODEL": ("contradiction", "entailment", "neutral"),
}
"""Settings that name a cross-encoder → its labels."""


def names() -> list[str]:
    properties = Settings.model_json_schema(by_alias=True)["properties"]
    return sorted(str(name) for name in properties)


def test_every_setting_has_a_probe_and_no_other() -> None:
    assert sorted(PROBES) == names()


# An interruption that comes within a destructor is lost, and sent again: see `loaders.time_limit`.
LOST = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=LOST if one == "ONCALL_DOCUMENT_SECONDS" else ()) for one in PROBES],
)
def test_a_setting_changes_what_the_product_does(
    town: Town, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # no .env of a developer
    if name in LABELS:  # made for its own probe only: it takes torch
        (town.folder / name).mkdir()
        tiny_cross_encoder(town.folder / name, LABELS[name])
    probe = PROBES[name]
    base = {
        "ONCALL_CONFIG_DIR": "{folder}/tea",
        "ONCALL_EMBEDDING_MODEL": "hashed",
        "OPENAI_BASE_URL": "{server}",
        **probe.besides,
    }

    def seen(value: str | None, run: int) -> object:
        if probe.besides is not POSTGRESQL:
            return under(value, run, town.places)
        with postgresql_database() as url:
            return under(value, run, {**town.places, "postgresql": url})

    def under(value: str | None, run: int, places: Mapping[str, str]) -> object:
        given = {"ONCALL_DATA_DIR": str(tmp_path / str(run)), **base, name: value}
        for variable in names():
            monkeypatch.delenv(variable, raising=False)
        for variable, text in given.items():
            if text is not None:
                monkeypatch.setenv(variable, text.format(**places))
        return probe.observe(town, read_settings())

    first = seen(probe.one, 1)
    assert seen(probe.other, 2) != first
    assert seen(probe.one, 3) == first, "not an effect of the setting, but of chance"
