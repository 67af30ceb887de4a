"""Thresholds that golden questions bore out, by domain and model, in the state database."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Column, Engine, Float, Integer, MetaData, String, Table

from agents.confidence.confidence_levels import MEDIUM
from agents.confidence.wrong_share import NEVER, Judged, fewest_answers, threshold_for
from config.settings import Settings
from index.store.database import FILE_NAME, open_database
from index.store.vectors import KeptRows

_THRESHOLDS = Table(
    "confidence_thresholds",
    MetaData(),
    Column("domain", String(64), primary_key=True),
    Column("model", String(200), primary_key=True, comment="empty without a model"),
    Column("max_wrong", Float, nullable=False, comment="what was asked for"),
    Column("threshold", Float, nullable=False),
    Column("answers", Integer, nullable=False, comment="golden questions answered from documents"),
    Column("wrong", Integer, nullable=False, comment="of them"),
    Column("borne_out", Integer, nullable=False, comment="0: of the built-in calibration"),
)


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The confidence from which on answers are shown without reserve, and what it rests on."""

    max_wrong: float
    threshold: float
    answers: int = 0
    """Golden questions answered from documents."""
    wrong: int = 0
    """Of them."""
    borne_out: bool = False
    """By these answers; else it is that of the built-in calibration."""

    def __str__(self) -> str:
        rests_on = f"{self.answers} answers to golden questions, {self.wrong} of them wrong"
        if self.threshold == NEVER:
            return f"no answer is shown without reserve: {rests_on}"
        from_on = f"answers are shown without reserve from a confidence of {self.threshold:.2f} on"
        if self.borne_out:
            return f"{from_on}, by {rests_on}"
        return (
            f"{from_on}, by the built-in calibration: {rests_on}, "
            f"and it takes {fewest_answers(self.max_wrong)} right ones to show it here"
        )


def built_in(max_wrong: float) -> Threshold:
    """Where the calibration itself expects that share of wrong answers at most."""
    return Threshold(max_wrong=max_wrong, threshold=1 - max_wrong)


def measured(max_wrong: float, judged: list[Judged]) -> Threshold:
    """What the golden questions bear out; where they are too few, the built-in threshold; where
    they are enough and contradict it, none."""
    passed = threshold_for(max_wrong, judged)
    sure = sum(one.confidence >= 1 - max_wrong for one in judged)
    threshold = 1 - max_wrong if sure < fewest_answers(max_wrong) else NEVER
    return Threshold(
        max_wrong=max_wrong,
        threshold=threshold if passed is None else passed,
        answers=len(judged),
        wrong=sum(not one.acceptable for one in judged),
        borne_out=passed is not None,
    )


class KeptThresholds:
    """Of all domains. Creates its table when something is kept."""

    def __init__(self, engine: Engine, model: str) -> None:
        """`model`: its name; empty without one."""
        self._rows = KeptRows(engine, _THRESHOLDS)
        self._model = model[:200]

    def keep(self, domain: str, found: Threshold) -> None:
        values = {**asdict(found), "borne_out": int(found.borne_out)}
        self._rows.keep(domain=domain, model=self._model, **values)

    def needed(self, domain: str, max_wrong: float | None) -> float:
        """Confidence from which on a domain's answers are shown without reserve."""
        return MEDIUM if max_wrong is None else self.of(domain, max_wrong).threshold

    def of(self, domain: str, max_wrong: float) -> Threshold:
        """The built-in one where none was measured for this share of wrong answers."""
        row = self._rows.find(domain=domain, model=self._model)
        if row is None or row.max_wrong != max_wrong:
            return built_in(max_wrong)
        return Threshold(
            max_wrong=max_wrong,
            threshold=row.threshold,
            answers=row.answers,
            wrong=row.wrong,
            borne_out=bool(row.borne_out),
        )


def kept_threshold(settings: Settings, domain: str, model: str, max_wrong: float) -> Threshold:
    """Without anything else of the product, and creating nothing.

    Raises ConfigError for a database that can't be reached."""
    if not (settings.database_url or (settings.data_dir / FILE_NAME).exists()):
        return built_in(max_wrong)
    engine = open_database(settings)
    try:
        return KeptThresholds(engine, model).of(domain, max_wrong)
    finally:
        engine.dispose()
