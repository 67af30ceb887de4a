"""Words as extractive enrichment counts them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_WORD = re.compile(r"[^\W\d_][\w'’-]*\w|[^\W_]", re.UNICODE)
_STOP_WORDS_LISTED = """
a about above after again all also always am an and any are as at be because been before being
below between both but by can cannot could did do does doing done down during each either else
every few for from further get gets given had has have having he her here hers him his how
however i if in into is it its itself just least less let like made make makes many may me might
more most much must my need needs never no nor not now of off on once one only or other others
our out over own per rather same shall she should since so some such than that the their them
then there these they this those through to too two under until up upon us use used uses using
very via was we were what when where whether which while who whom whose why will with within
without would yes yet you your
"""
STOP_WORDS = frozenset(_STOP_WORDS_LISTED.split())


@cache
def _stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def stems(text: str) -> list[str]:
    """Stems of the words that carry meaning."""
    kept = [word.lower() for word in words(text) if word.lower() not in STOP_WORDS]
    return list(_stemmer().stemWords(kept))
