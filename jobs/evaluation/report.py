"""`report.json`: the result of an evaluation. Its JSON Schema is docs/report.schema.json.

Fields are added, never renamed: others read these files."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from jobs.golden.questions import GoldenTurn, Kind, Unanswerable

Metrics = dict[str, float]
"""Name → value; shares from 0 to 1 unless the name says a unit."""
Interval = tuple[float, float]
"""95%, low and high."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunInfo(_Part):
    """What was asked of what."""

    id: str = Field("", description="Names the run in `oncall evaluate history`")
    domain: str
    system: str = Field("agents", description="`agents`, or the name of a baseline")
    model: str = Field("", description="Chat model; empty without one")
    judge_model: str = Field("", description="Empty where nothing was judged")
    generation: int = Field(0, description="Of the index")
    version: str = Field("", description="Of everything that makes an answer; equal ones compare")
    golden: list[str] = Field([], description="Names of the golden files")
    questions: int
    repeats: int = 1
    asked: int = Field(0, description="Replies that this run asked for")
    kept: int = Field(0, description="Replies of an earlier run of the same version")
    parallel: int = 1
    started_at: str = Field(description="UTC, ISO 8601")
    seconds: float = 0.0


class ReportCitation(_Part):
    number: int
    document: str
    title: str = ""
    heading: str
    url: str
    quote: str = ""


class ReportPassage(_Part):
    document: str
    title: str = Field("", description="Of the document")
    heading: str
    text: str


class ReportEvidence(_Part):
    document: str
    heading: str = ""
    quote: str
    found: bool = Field(False, description="The answerer saw it, in this document")


class JudgedReply(_Part):
    """What the judge said of one answer."""

    score: int = Field(ge=0, le=5)
    acceptable: bool = Field(description="A score of 4 or 5")
    incorrect: bool = Field(description="Who acts on it is misinformed")
    reasoning: str
    feedback: str = Field("", description="What would make it a 5")
    missing: list[str] = Field([], description="Asked for and left out")
    unsupported: list[str] = Field([], description="Sentences that the passages don't hold up")
    supported: float = Field(
        1.0, ge=0, le=1, description="Share of the answer's sentences that are not among these"
    )


class Repeat(_Part):
    """A further time that the same question was asked."""

    repeat: int
    answer: str
    path: str
    metrics: Metrics
    judge: JudgedReply | None = None


class ReportQuestion(_Part):
    id: str
    kind: Kind
    tags: list[str] = []
    category: Unanswerable | None = None
    question: str
    history: list[GoldenTurn] = []
    reference: str = ""
    instructions: str = ""
    must_include: list[str] = []
    rubric: list[str] = []
    evidence: list[ReportEvidence] = []
    answer: str
    path: str
    confidence: float
    confidence_parts: dict[str, float] = {}
    options: list[str] = []
    citations: list[ReportCitation] = []
    context: list[ReportPassage] = Field([], description="What the answerer saw, in order")
    metrics: Metrics
    judge: JudgedReply | None = None
    repeats: list[Repeat] = Field([], description="From the second time on")
    timings_ms: dict[str, float] = {}
    first_token_ms: float | None = None
    total_ms: float = 0.0
    calls: int = 0
    tokens: int = 0
    cost: float | None = Field(None, description="US dollars, where prices are set")
    degraded: list[str] = []
    query_kind: str = Field("", description="How it is put: code, several, situation, plain")
    strategy: str = Field("", description="Of the last planned search; empty without one")
    searches: int = Field(0, description="Planned searches and rounds of lookups")
    drafts: int = Field(0, description="Times that the answerer was asked")


class MetricChange(_Part):
    """One metric, before and after, over the questions that both runs asked."""

    before: float
    after: float
    questions: int = 0
    interval: Interval | None = Field(None, description="Of the paired difference, bootstrap")
    p: float | None = Field(None, description="Paired permutation test, two-sided")


class Comparison(_Part):
    before: str = Field("", description="What it is held against")
    metrics: dict[str, MetricChange]
    by_kind: dict[str, dict[str, MetricChange]] = {}
    better: list[str] = Field([], description="Ids of questions")
    worse: list[str] = []


class SystemResult(_Part):
    """The same questions, asked of another system."""

    name: str
    metrics: dict[str, Metrics]
    intervals: dict[str, dict[str, Interval]] = {}
    questions: list[ReportQuestion]


class KeptThreshold(_Part):
    """See `agents.confidence.Threshold`."""

    max_wrong: float
    threshold: float
    answers: int
    wrong: int
    borne_out: bool


class Rate(_Part):
    value: float
    low: float
    high: float
    count: int = Field(description="What it is a share of")


class JudgeCard(_Part):
    """How far the judge agrees with people, as last measured, and the headline figures corrected
    by it."""

    checked: bool = Field(description="False: nobody ever scored beside it")
    scores: int = Field(0, description="Scores by people that it rests on")
    true_positive_rate: dict[str, Rate] = Field({}, description="`acceptable`, `incorrect`")
    true_negative_rate: dict[str, Rate] = {}
    kappa: Rate | None = Field(None, description="Agreement on the score, squared weights")
    corrected: dict[str, Rate] = Field({}, description="Headline figures after correction")
    not_corrected: dict[str, str] = Field({}, description="Why there is no corrected figure")


class EvaluationReport(_Part):
    format: Literal[1] = 1
    run: RunInfo
    metrics: dict[str, Metrics] = Field(description="`all`, each kind, each `#tag`")
    intervals: dict[str, dict[str, Interval]] = {}
    spread: Metrics = Field({}, description="Standard deviation of each metric over repeats")
    questions: list[ReportQuestion]
    threshold: KeptThreshold | None = None
    baseline: SystemResult | None = None
    against_baseline: Comparison | None = None
    compared: Comparison | None = None
    judge: JudgeCard | None = None
    below: list[str] = Field([], description="What `--fail-under` found too low")
    notes: list[str] = Field([], description="What a reader should know, in plain words")
