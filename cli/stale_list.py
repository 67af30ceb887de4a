"""Documents to look over, as `oncall docs stale` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from agents.freshness.stale_documents import FEWEST_CITED, StaleDocument


def print_stale(found: Sequence[StaleDocument], review_months: int) -> None:
    """Each with why it is listed and how its score came about."""
    for one in found:
        parts = f"{one.cited} cited × {_age(one, review_months)} × importance {one.importance:g}"
        owner = f" · owner: {one.owner}" if one.owner else ""
        typer.echo(f"{typer.style(one.id, fg='cyan', bold=True)}  {one.title}{owner}")
        typer.echo(f"   {one.told()}")
        typer.echo(typer.style(f"   score {one.score:.1f} = {parts}", dim=True))
    if not found:
        typer.echo(
            "Nothing to look over: no document is past the review date that it states, and none "
            f"that was cited {FEWEST_CITED} times in 90 days is {review_months} months old."
        )


def stale_json(one: StaleDocument) -> dict[str, Any]:
    return {**asdict(one), "why": one.told()}


def _age(one: StaleDocument, review_months: int) -> str:
    age = (one.months or 0.0) / review_months
    if one.review_by and age < 2.0:
        return "2 (its review date is past)"
    return f"{age:.2f} ({one.months or 0:.0f} of {review_months} months)"
