"""A believable evaluation of a made-up company's help desk."""

from __future__ import annotations

import random
from typing import Any, get_args

from jobs.evaluation.comparison import compared, intervals, summed_up
from jobs.evaluation.report import (
    EvaluationReport,
    JudgeCard,
    JudgedReply,
    ReportCitation,
    ReportEvidence,
    ReportPassage,
    ReportQuestion,
    RunInfo,
    SystemResult,
)
from jobs.golden.questions import GoldenTurn, Kind

THINGS = ("signing key", "backup", "badge", "laptop", "service account", "certificate", "export")
PLACES = ("Singapore", "Dublin", "Lima", "Oslo")
KINDS = [kind for kind in get_args(Kind) if kind != "proposed"]
URL = "https://docs.google.com/document/d/made-up/edit#heading=h.1"


def made_up_question(
    place: int, *, judged: bool, skill: float, passages: int = 6, chance: random.Random
) -> ReportQuestion:
    thing, where = THINGS[place % len(THINGS)], PLACES[place % len(PLACES)]
    kind: Any = KINDS[place % len(KINDS)]
    days = 30 + place % 7 * 15
    fact = f"{days} days in {where}"
    rule = (
        f"A {thing} is replaced after **{fact}**, without extension.\n\n| region | days | owner |\n"
        f"|---|---|---|\n| {where} | {days} | Platform |\n| elsewhere | {days + 30} | Security |\n"
    )
    confidence = round(chance.betavariate(5, 2), 3)
    right = chance.random() < skill * (0.45 + 0.6 * confidence)
    refused = kind == "unanswerable" if right else chance.random() < 0.2
    judge = None
    score = (5 if chance.random() < 0.6 else 4) if right else chance.choice([0, 1, 2, 3, 3])
    incorrect = not right and not refused and chance.random() < 0.3
    if judged:
        judge = JudgedReply(
            score=score,
            acceptable=score >= 4,
            incorrect=incorrect,
            reasoning=f"The reference says {fact}; the answer "
            + ("says so." if right else "names another region."),
            feedback="" if score == 5 else f"Name the owner of the {thing}.",
            missing=[] if right else [f"the {where} limit"],
            supported=1.0 if right else 0.5,
        )
    answer = (
        f"I found nothing about a {thing} in {where}."
        if refused
        else f"A {thing} in **{where}** is replaced after "
        f"{days if right else days + 30} days [1].\n\n| region | days |\n|---|---|\n"
        f"| {where} | {days if right else days + 30} |\n\n- Ask the owner first.\n"
    )
    metrics = {
        "replied_answer": float(not refused),
        "replied_refusal": float(refused),
        "replied_passages": 0.0,
        "replied_question": 0.0,
        "words": float(len(answer.split())),
        "total_ms": round(chance.lognormvariate(7.6, 0.5), 1),
        "calls": 3.0,
    }
    if kind == "unanswerable":
        metrics["refused_right"] = metrics["refusal_recall"] = float(refused)
    else:
        metrics |= {
            "cited": float(right or chance.random() < 0.5),
            "facts_all": float(right),
            "evidence_all": float(right or chance.random() < 0.6),
            "evidence_ndcg@10": round(chance.uniform(0.5, 1), 2),
            "refused_wrong": float(refused),
        }
    if not refused:
        metrics |= {"answer_wrong": float(not right), "grounded": 1.0 if right else 0.7}
    if judge:
        metrics |= {
            "judge_score": float(score),
            "acceptable": float(score >= 4),
            "incorrect": float(incorrect),
        }
    context = [
        ReportPassage(
            document=f"handbook-{n}",
            title=f"Handbook of {THINGS[n % len(THINGS)]}s",
            heading="Maximum age" if n == place % 40 else f"Section {n}",
            text=rule if n == place % 40 else f"Section {n}. " + "Ask the owner first. " * 40,
        )
        for n in {place % 40, *(chance.randrange(200) for _ in range(passages - 1))}
    ]
    return ReportQuestion(
        id=f"{thing.split()[0]}-{place:03}",
        kind=kind,
        tags=["rotation"] if place % 3 == 0 else ["audit", "owners"] if place % 3 == 1 else [],
        question=f"How long may a {thing} be kept in {where}?",
        history=[GoldenTurn(role="user", content=f"We have a {thing}.")]
        if kind == "follow_up"
        else [],
        reference=""
        if kind == "unanswerable"
        else f"{fact}, without extension; the owner is Platform.",
        must_include=[] if kind == "unanswerable" else [fact],
        evidence=[]
        if kind == "unanswerable"
        else [
            ReportEvidence(
                document=f"handbook-{place % 40}",
                heading="Maximum age",
                quote=f"is replaced after {fact}",
                found=True,
            )
        ],
        answer=answer,
        path="no_answer_found" if refused else "answered",
        confidence=confidence,
        citations=[]
        if refused
        else [
            ReportCitation(
                number=1,
                document=f"handbook-{place % 40}",
                title=f"Handbook of {thing}s",
                heading="Maximum age",
                url=URL,
                quote=f"replaced after {fact}",
            )
        ],
        context=context,
        metrics=metrics,
        judge=judge,
        total_ms=metrics["total_ms"],
        first_token_ms=round(metrics["total_ms"] * 0.4, 1),
        calls=3,
        tokens=chance.randrange(6_000, 14_000),
        timings_ms={"plan": 310.0, "retrieve": 45.0},
    )


def made_up_report(
    count: int = 72, *, judged: bool = True, beside: bool = True, passages: int = 6
) -> EvaluationReport:
    """`beside`: with a baseline, and compared with a run before."""

    def asked(skill: float, seed: int) -> list[ReportQuestion]:
        chance = random.Random(seed)
        return [
            made_up_question(n, judged=judged, skill=skill, passages=passages, chance=chance)
            for n in range(count)
        ]

    questions = asked(1.0, 1)
    plain, before = asked(0.6, 2), asked(0.9, 1)
    result = SystemResult(
        name="plain RAG",
        metrics=summed_up(plain),
        intervals=intervals(plain),
        questions=plain,
    )
    return EvaluationReport(
        run=RunInfo(
            id="helpdesk-20260301-101500-123",
            domain="helpdesk",
            model="made-up-large",
            judge_model="made-up-judge" if judged else "",
            generation=12,
            version="7c1f0a94be22",
            golden=["helpdesk.yaml"],
            questions=count,
            asked=count - 4,
            kept=4,
            parallel=8,
            started_at="2026-03-01T10:15:00+00:00",
            seconds=93.4,
        ),
        metrics=summed_up(questions),
        intervals=intervals(questions),
        questions=questions,
        baseline=result if beside else None,
        against_baseline=compared(plain, questions, name="plain RAG") if beside else None,
        compared=compared(before, questions, name="the run of 27 February") if beside else None,
        judge=JudgeCard(checked=False) if judged else None,
        notes=["Nobody judged the answers: facts were matched."] if not judged else [],
    )
