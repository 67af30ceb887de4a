"""Progress of an answer that may yet be thought better of: what is done is told, words are not."""

from __future__ import annotations

from agents.answer import Answer, Ask, Progress, Question


class Withheld:
    """Its words are told when they are final: see `told_at_the_end`."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ""

    def status(self, text: str) -> None:
        """Each line once in a row."""
        if text != self._last:
            self._last = text
            self._progress.status(text)

    def delta(self, text: str) -> None:
        if text:
            self.status("Writing the answer…")


def told_at_the_end(ask: Ask) -> Ask:
    """The same answers, each told in one piece."""

    def run(question: Question, progress: Progress | None = None) -> Answer:
        answer = ask(question, progress and Withheld(progress))
        if progress:
            progress.delta(answer.text)
        return answer

    return run
