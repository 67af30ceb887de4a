"""Confidence: the probability that an expert would accept an answer, 0–1; and its thresholds.

For a refusal it is the probability that the documents don't say, for passages that they contain the
answer. Four logistic functions of few named signals, each 0–1, one for each kind of answer: see
docs/decisions/086-what-confidence-means.md.

A threshold is the confidence from which, by golden questions, few enough answers are wrong. Each is
a hypothesis, "of the answers from here on more than `most` are wrong". They are tested from the
strictest on in a fixed order, so all tests together fail at most once in ten evaluations, whatever
the number of thresholds. Source: Angelopoulos, Bates, Candès, Jordan & Lei, Learn then Test,
arXiv 2110.01052, 2021."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sqlalchemy import Engine, Float, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from agents.answer import Answer, AnswerPath
from config.settings import Settings
from durable.migration import KeyValueTable
from index.store.database import FILE_NAME, open_database


@dataclass(frozen=True)
class Calibration:
    """A logistic function of named signals."""

    bias: float
    weights: Mapping[str, float]

    def probability(self, parts: Mapping[str, float]) -> float:
        """0–1; missing signals count as 0."""
        total = self.bias + sum(w * parts.get(name, 0.0) for name, w in self.weights.items())
        return 1 / (1 + math.exp(-total))


# Fitted by `benchmarks/left_out.py`: that all literal facts are said and a right document cited,
# and of the last, that the question is one that the documents don't answer.
FOUND = Calibration(-3.6, {"share shown": 3.9, "searches agree": 1.5})
REFUSED_WITHOUT_A_MODEL = Calibration(-1.2, {"evidence": -2.6})

# Set by hand: of 150 judged answers five were not accepted, too few for a fit by
# `benchmarks/calibration.py`. Grounded and covered 0.95, half of it grounded 0.65, about something
# else than was asked 0.35; NOTHING 0.75, and after a second search 0.9; a question back 0.9.
WRITTEN = Calibration(
    -2.6, {"groundedness": 4.5, "sufficiency": 1.1, "looked again": 0.0, "off subject": -3.6}
)
REFUSED_BY_A_MODEL = Calibration(1.1, {"looked again": 1.1})
ASKED_BACK_BY_A_MODEL = 0.9
DIRECT = 0.9
"""Confidence of an answer without a model: see `agents/extractive/direct_answer.py`."""


def calibration_of(*, refused: bool, by_model: bool) -> Calibration:
    if refused:
        return REFUSED_BY_A_MODEL if by_model else REFUSED_WITHOUT_A_MODEL
    return WRITTEN if by_model else FOUND


def confidence(
    parts: Mapping[str, float], *, refused: bool = False, by_model: bool = False
) -> float:
    """`parts`: `confidence_parts`; for passages also `share shown`, for a model's answer also
    `groundedness` and `looked again` (1 after another round of searches)."""
    return calibration_of(refused=refused, by_model=by_model).probability(parts)


MEDIUM = 0.4
"""Below this, the confidence is called low and the answer is marked."""
CONFIDENT = 0.6
"""Below this, an answer that nobody requested is noise."""
HIGH = 0.9
"""One in ten answers of this confidence is wrong; without a model none reaches it."""


def confidence_level(confidence: float) -> Literal["high", "medium", "low"]:
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"


def path_for(path: AnswerPath, confidence: float, needed: float = MEDIUM) -> AnswerPath:
    """The path of an answer from documents depends on its confidence.

    `needed`: confidence from which it is shown without reserve, 0–1."""
    failing = path == "company_specific_rag_success" and confidence < needed
    return "company_specific_rag_failure" if failing else path


RISK = 0.1
"""Share of evaluations whose threshold may let too many wrong answers through."""
NEVER = 1.01
"""A threshold that no confidence reaches."""


@dataclass(frozen=True, kw_only=True)
class JudgedAnswer:
    """The answer to a golden question, from documents."""

    confidence: float
    acceptable: bool


def answers_needed(most: float) -> int:
    """Correct answers needed to show that at most this share is wrong: 45 for 0.05."""
    return math.ceil(math.log(RISK) / math.log1p(-most))


def threshold_for(most: float, answers: Sequence[JudgedAnswer]) -> float | None:
    """The lowest confidence that passes, 0–1; None when none does.

    `most`: share of wrong answers at or above the threshold, 0–1. The first threshold tested is the
    strictest with enough answers to pass, which depends on the confidences alone. The first failure
    ends the test."""
    ranked = sorted(answers, key=lambda one: -one.confidence)
    passed, wrong = None, 0
    for count, one in enumerate(ranked, start=1):
        wrong += not one.acceptable
        tied = count < len(ranked) and ranked[count].confidence == one.confidence
        if tied or count < answers_needed(most):
            continue
        if chance_of_so_few(wrong, count, most) > RISK:
            break
        passed = one.confidence
    return passed


def chance_of_so_few(wrong: int, answers: int, share: float) -> float:
    """P(at most `wrong` of `answers`) when this share is wrong: the binomial tail, 0–1."""
    return math.fsum(
        math.comb(answers, each) * share**each * (1 - share) ** (answers - each)
        for each in range(wrong + 1)
    )


class _Base(DeclarativeBase):
    pass


class ThresholdRow(_Base):
    __tablename__ = "confidence_thresholds"
    domain: Mapped[str] = mapped_column(String(64), primary_key=True)
    model: Mapped[str] = mapped_column(
        String(200), primary_key=True, comment="empty without a model"
    )
    max_wrong: Mapped[float] = mapped_column(Float, comment="what was asked for")
    threshold: Mapped[float] = mapped_column(Float)
    answers: Mapped[int] = mapped_column(comment="golden questions answered from documents")
    wrong: Mapped[int] = mapped_column(comment="of them")
    borne_out: Mapped[int] = mapped_column(comment="0: of the built-in calibration")


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The confidence from which answers are shown without reserve, and its evidence."""

    max_wrong: float
    threshold: float
    answers: int = 0
    """Golden questions answered from documents."""
    wrong: int = 0
    """Wrong answers among them."""
    borne_out: bool = False
    """Shown by these answers; False: the built-in calibration."""

    def __str__(self) -> str:
        rests_on = f"{self.answers} answers to golden questions, {self.wrong} of them wrong"
        if self.threshold == NEVER:
            return f"no answer is shown without reserve: {rests_on}"
        from_on = f"answers are shown without reserve from a confidence of {self.threshold:.2f} on"
        if self.borne_out:
            return f"{from_on}, by {rests_on}"
        return (
            f"{from_on}, by the built-in calibration: {rests_on}, "
            f"and it takes {answers_needed(self.max_wrong)} right ones to show it here"
        )


def built_in_threshold(max_wrong: float) -> Threshold:
    """The threshold that follows from the calibration alone."""
    return Threshold(max_wrong=max_wrong, threshold=1 - max_wrong)


def measure_threshold(max_wrong: float, answers: list[JudgedAnswer]) -> Threshold:
    """The threshold by the golden questions; the built-in threshold when they are too few; NEVER
    when enough of them contradict it."""
    passed = threshold_for(max_wrong, answers)
    sure = sum(one.confidence >= 1 - max_wrong for one in answers)
    threshold = 1 - max_wrong if sure < answers_needed(max_wrong) else NEVER
    return Threshold(
        max_wrong=max_wrong,
        threshold=threshold if passed is None else passed,
        answers=len(answers),
        wrong=sum(not one.acceptable for one in answers),
        borne_out=passed is not None,
    )


class ThresholdStore:
    """Stores thresholds by domain and model. Creates its table at the first write."""

    def __init__(self, engine: Engine, model: str) -> None:
        """`model`: its name; empty without one."""
        self._rows = KeyValueTable(engine, ThresholdRow)
        self._model = model[:200]

    def keep(self, domain: str, threshold: Threshold) -> None:
        values = {**asdict(threshold), "borne_out": int(threshold.borne_out)}
        self._rows.keep(domain=domain, model=self._model, **values)

    def needed(self, domain: str, max_wrong: float | None) -> float:
        """Confidence from which a domain's answers are shown without reserve."""
        return MEDIUM if max_wrong is None else self.of(domain, max_wrong).threshold

    def of(self, domain: str, max_wrong: float) -> Threshold:
        """The built-in threshold unless one was measured for this share."""
        row = self._rows.find(domain=domain, model=self._model)
        if row is None or row.max_wrong != max_wrong:
            return built_in_threshold(max_wrong)
        return Threshold(
            max_wrong=max_wrong,
            threshold=row.threshold,
            answers=row.answers,
            wrong=row.wrong,
            borne_out=bool(row.borne_out),
        )


def read_threshold(settings: Settings, domain: str, model: str, max_wrong: float) -> Threshold:
    """Reads without creating a database. Raises ConfigError when it is unreachable."""
    if not (settings.database_url or (settings.data_dir / FILE_NAME).exists()):
        return built_in_threshold(max_wrong)
    engine = open_database(settings)
    try:
        return ThresholdStore(engine, model).of(domain, max_wrong)
    finally:
        engine.dispose()


def is_confident_enough(answer: Answer) -> bool:
    """Whether to post an answer that nobody requested."""
    return (
        answer.from_documents
        and not answer.unsure
        and min(answer.confidence, answer.confidence_parts.get("evidence", 1.0)) >= CONFIDENT
    )
