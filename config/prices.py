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


def read_prices(written: str) -> Prices:
    """`0.25/2.00`: of a million tokens in and out. Raises ValueError that says how to write it."""
    try:
        price_in, price_out = map(float, written.split("/"))
    except ValueError:
        price_in = price_out = -1.0
    if not (0 <= price_in < float("inf") and 0 <= price_out < float("inf")):
        raise ValueError("write dollars for a million tokens, as 0.25/2.00")
    return Prices(input=price_in, output=price_out)
