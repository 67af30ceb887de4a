"""The evaluated systems (the agents, plain RAG), the judge, and reports by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.domain import Domain
    from jobs.evaluation.evaluate import Judge, System
    from jobs.evaluation.reply_store import ReplyStore
    from jobs.evaluation.report import EvaluationReport
    from oncall import Copilot


WITH_A_MODEL = 8
"""Concurrent questions or verdicts; they mostly wait for the model."""


def at_a_time(copilot: Copilot) -> int:
    return WITH_A_MODEL if copilot.model else max(1, os.cpu_count() or 1)


def agents(copilot: Copilot, domain: Domain, *, ask_again: bool = False) -> System:
    """The domain's agents, built from the given domain file."""
    from jobs.evaluation.asking import version_of
    from jobs.evaluation.evaluate import System

    most = domain.answer.max_wrong
    version = version_of(
        domain,
        system="agents",
        index=_index_of(copilot, domain.domain),
        model=copilot.model_name,
        entails=copilot.settings.entailment_model,
        needed=copilot.thresholds.needed(domain.domain, most),
    )
    return System(
        name="agents",
        ask=copilot.ask_as(domain),
        version=version,
        replies=_reply_store(copilot, domain, version, ask_again),
    )


def plain_rag(copilot: Copilot, domain: Domain, *, ask_again: bool = False) -> System:
    """Fixed chunks, vectors only, one prompt, over the same documents and with the same model."""
    from agents.context.post_processor import max_characters
    from jobs.evaluation.asking import version_of
    from jobs.evaluation.baseline import PlainRag, documents_in
    from jobs.evaluation.evaluate import System

    snapshot = copilot.snapshot(domain.domain)
    version = version_of(
        domain,
        system="plain",
        index=_index_of(copilot, domain.domain),
        model=copilot.model_name,
    )
    plain = PlainRag(
        list(documents_in(snapshot)),
        copilot.embedder,
        model=copilot.model,
        characters=max_characters(domain.answer, has_model=copilot.model is not None),
    )
    return System(
        name="plain RAG",
        answers=copilot.model is not None,
        ask=lambda question, progress: plain.ask(question),
        version=version,
        replies=_reply_store(copilot, domain, version, ask_again),
    )


def _reply_store(copilot: Copilot, domain: Domain, version: str, ask_again: bool) -> ReplyStore:
    from jobs.evaluation.reply_store import SqlReplyStore

    return SqlReplyStore(copilot.index.engine, domain.domain, version, ask_again=ask_again)


def _index_of(copilot: Copilot, name: str) -> str:
    """Returns digest and embedder of the current generation; empty if nothing is published."""
    current = copilot.index.current(name)
    return f"{current.digest} {current.embedder}" if current else ""


def judge_of(copilot: Copilot, domain: Domain, *, parallel: int | None = None) -> Judge:
    """Returns the judge, with people's corrections of this domain as examples.

    Raises ConfigError without a judge model."""
    from functools import partial

    from agents.judging.corrections import CorrectionStore, nearest_corrections
    from agents.judging.judge import AnswerJudge, verdict_cache
    from config.errors import ConfigError
    from jobs.evaluation.judging import judged

    model = copilot.judge_model
    if model is None:
        raise ConfigError(
            "--judge needs a language model, and none is connected",
            remedy="set ONCALL_JUDGE_MODEL, or ONCALL_CHAT_MODEL, and OPENAI_API_KEY or "
            "OPENAI_BASE_URL; without --judge the rest runs",
        )
    corrections = CorrectionStore(copilot.index.engine).of(domain.domain)
    give = AnswerJudge(
        model=model,
        examples=nearest_corrections(corrections, copilot.embedder),
        verdicts=verdict_cache(copilot.index.engine),
    )
    return partial(
        judged,
        give=give,
        model=model.name,
        answered_by=copilot.model_name,
        parallel=parallel or WITH_A_MODEL,
    )


def report_named(copilot: Copilot, named: str, domain: str | None = None) -> EvaluationReport:
    """Read a report.json or its folder, else a stored run by id, unique prefix of an id, or `last`.

    Raises ConfigError or UsageError."""
    from jobs.evaluation.evaluate import read_report
    from jobs.evaluation.history import run_report

    if Path(named).exists() or named.endswith(".json"):
        return read_report(Path(named))
    return run_report(copilot.index.engine, named, domain)
