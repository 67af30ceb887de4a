"""Result of a canary: golden questions that gained or lost their evidence."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SHOWN = 20
"""Maximum number of lost questions to list."""


@dataclass(frozen=True, kw_only=True)
class LostQuestion:
    """A golden question whose evidence is no longer found."""

    id: str
    question: str
    was: str
    """`Title › Heading` of the lost evidence before the change."""
    now: str
    """What happened to the evidence, as text."""

    def __str__(self) -> str:
        return f"{self.id} “{self.question}”: was in `{self.was}`, {self.now}"


@dataclass(frozen=True, kw_only=True)
class CanaryOutcome:
    """Comparison of a domain with its earlier state."""

    domain: str
    change: str
    """Description of the change, e.g. `generation 5`."""
    before: float
    """Share of questions for which all evidence was found, 0–1."""
    after: float
    questions: int
    """Number of questions compared, without stale ones."""
    lost: tuple[LostQuestion, ...] = ()
    gained: tuple[str, ...] = ()
    """Ids of questions."""
    stale: tuple[LostQuestion, ...] = ()
    """Questions whose evidence left the documents: they need an edit."""
    is_drop: bool = False
    """Whether the loss exceeds the domain's limit."""
    refused: bool = False
    """Whether the drop blocked the new generation."""
    accepted: bool = False
    """Whether the run was started with `--accept-drop`."""
    limit: float = 0.0

    def lines(self) -> list[str]:
        """The figures, then lost and stale questions, for operators."""
        lines = [self.headline()]
        lines += [f"lost: {one}" for one in self.lost[:MOST_SHOWN]]
        if len(self.lost) > MOST_SHOWN:
            lines.append(f"lost: {len(self.lost) - MOST_SHOWN} more; `--json` names all")
        lines += [f"stale golden question: {one}" for one in self.stale]
        return lines

    def headline(self) -> str:
        figures = (
            f"{self.domain}: {self.change}: evidence found for {self.after:.2f} of "
            f"{self.questions} golden questions, before {self.before:.2f} "
            f"({len(self.lost)} lost, {len(self.gained)} gained"
            + (f", {len(self.stale)} stale)" if self.stale else ")")
        )
        if self.refused:
            return (
                f"{figures}; beyond the limit of {self.limit:g}, so it was not published and the "
                "generation before it stays. To publish it nevertheless: "
                f"`oncall ingest {self.domain} --accept-drop`"
            )
        if self.is_drop and not self.accepted:
            return (
                f"{figures}; beyond the limit of {self.limit:g}. To take it as the new measure: "
                f"`oncall canary {self.domain} --accept-drop`"
            )
        return figures

    def notice(self, *, titles: bool) -> list[str]:
        """Lines for the domain's admins. `titles`: include document titles and headings."""
        if titles:
            return self.lines()
        return [self.headline(), *(f"lost: {one.id} “{one.question}”" for one in self.lost)]

    @property
    def alarms(self) -> bool:
        """Whether a person has to check the drop."""
        return self.is_drop and not self.accepted
