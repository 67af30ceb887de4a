"""List numbers as documents show them."""

from __future__ import annotations

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
BULLETS = ("•", "◦", "▪")


def number(value: int, kind: str) -> str:
    """`value` as HTML's `type` shows it: `1`, `a`, `A`, `i` or `I`; decimal where that ends."""
    if kind in "aA" and value > 0:
        shown = _letters(value)
    elif kind in "iI" and 0 < value < 4000:
        shown = _roman(value)
    else:
        return str(value)
    return shown.upper() if kind.isupper() else shown


def _letters(value: int) -> str:
    """1 → a, 26 → z, 27 → aa, as Google counts."""
    return chr(ord("a") + (value - 1) % 26) * min((value - 1) // 26 + 1, 100)


def _roman(value: int) -> str:
    shown = ""
    for size, sign in _ROMAN:
        shown += sign * (value // size)
        value %= size
    return shown
