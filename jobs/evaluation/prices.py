"""What tokens cost."""

from __future__ import annotations

from dataclasses import dataclass

from config.models import Usage

_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Prices:
    """US dollars for a million tokens."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        spent = usage.input_tokens * self.input + usage.output_tokens * self.output
        return round(spent / _MILLION, 6)
