"""Who judges the answers of `oncall evaluate --judge`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.domain import Domain
    from jobs.evaluation.evaluate import Judge
    from jobs.evaluation.metrics.retrieval import GivenReply
    from oncall import Copilot


def judge_of(
    copilot: Copilot,
    domain: Domain,
    *,
    parallel: int | None = None,
    on_verdict: Callable[[GivenReply], None] = lambda reply: None,
) -> Judge:
    """The judge's model, taught by what people corrected in this domain.

    Raises ConfigError where there is no model: then nobody can judge."""
    from functools import partial

    from agents.judging.corrections import KeptCorrections, nearest_corrections
    from agents.judging.judge import AnswerJudge, kept_verdicts
    from cli.evaluation.systems import WITH_A_MODEL
    from config.errors import ConfigError
    from jobs.evaluation.judging import judged

    model = copilot.judge_model
    if model is None:
        raise ConfigError(
            "--judge needs a language model, and none is connected",
            remedy="set ONCALL_JUDGE_MODEL, or ONCALL_CHAT_MODEL, and OPENAI_API_KEY or "
            "OPENAI_BASE_URL; without --judge the rest runs",
        )
    corrections = KeptCorrections(copilot.index.engine).of(domain.domain)
    give = AnswerJudge(
        model=model,
        examples=nearest_corrections(corrections, copilot.embedder),
        kept=kept_verdicts(copilot.index.engine),
    )
    return partial(
        judged,
        give=give,
        model=model.name,
        answered_by=copilot.model_name,
        parallel=parallel or WITH_A_MODEL,
        on_verdict=on_verdict,
    )
