"""Result of a canary: golden questions whose evidence is no longer found."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SHOWN = 20
"""Lost questions that are named one by one."""


@dataclass(frozen=True, kw_only=True)
class LostQuestion:
    """A golden question that fares worse than before."""

    id: str
    question: str
    was: str
    """`Title › Heading` where the lost evidence stood."""
    now: str
    """What has become of it, in words."""

    def __str__(self) -> str:
        return f"{self.id} “{self.question}”: was in `{self.was}`, {self.now}"


@dataclass(frozen=True, kw_only=True)
class CanaryOutcome:
    """One comparison of a domain with how it was before."""

    domain: str
    change: str
    """What is new, in words, e.g. `generation 5`."""
    before: float
    """Share of the questions whose evidence was all found."""
    after: float
    questions: int
    """That were found or not in both; the stale ones don't count."""
    lost: tuple[LostQuestion, ...] = ()
    gained: tuple[str, ...] = ()
    """Ids of questions."""
    stale: tuple[LostQuestion, ...] = ()
    """Their evidence is gone from the documents themselves: the questions are to be changed."""
    is_drop: bool = False
    """Beyond the domain's limit."""
    refused: bool = False
    """The new generation was not published because of it."""
    accepted: bool = False
    """A drop that somebody accepted beforehand."""
    limit: float = 0.0

    def lines(self) -> list[str]:
        """For whoever runs the domain: the figures, then each question."""
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
        """For the admins of the domain; `titles`: of documents and headings too."""
        if titles:
            return self.lines()
        return [self.headline(), *(f"lost: {one.id} “{one.question}”" for one in self.lost)]

    @property
    def alarms(self) -> bool:
        """Somebody has to look."""
        return self.is_drop and not self.accepted
