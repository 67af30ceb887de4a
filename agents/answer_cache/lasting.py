"""Which answers may be given again, to somebody else and on another day."""

from __future__ import annotations

import re

from agents.answer import Answer
from agents.confidence.confidence_levels import HIGH

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SPAN = r"(?:minute|hour|day|night|week|weekend|month|quarter|year)s?"
_OF_TODAY = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|nowadays|now|currently|current|presently|recently"
    r"|upcoming|at the moment|at present|these days|so far|just now|as of|ago"
    rf"|(?:this|next|last|past|coming|previous|following) (?:{_SPAN}|{_DAY}|morning|afternoon"
    rf"|evening|time|one)|on {_DAY}|days? left|from now|in \d+ {_SPAN})\b",
    re.IGNORECASE,
)
"""Another answer on another day."""
_OF_AN_ANSWER = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|days? left|from now"
    rf"|{_SPAN} ago|this (?:{_SPAN}|{_DAY})|(?:next|last) (?:{_DAY}|week|month|quarter|year))\b",
    re.IGNORECASE,
)
_OF_THE_ASKER = re.compile(
    r"\bam i\b(?! (?:not )?(?:allowed|permitted|required|supposed|expected|obliged|able|to)\b)"
    r"|\bi(?:'m| am) (?:an? |in |on |from |based|the |new\b|working|located|part)"
    r"|\bas an? (?!\w+ of\b)|\bdo i (?:still )?(?:have|belong|qualify|count)\b"
    r"|\b(?:who|what|which|where) (?:is|are|was)(?: the)? my\b|\b(?:who|what|which)'?s my\b"
    r"|\b(?:my|our) (?:own )?(?:team|role|manager|boss|lead|group|department|office|site|country"
    r"|region|location|level|grade|rank|title|position|contract|shift|rota|project|squad|unit"
    r"|division|seniority|tenure|balance|status|entitlement|allowance|salary)s?\b|\bi work\b",
    re.IGNORECASE,
)
"""Another answer to another person; typographic apostrophes are made plain before."""
_REFERS_BACK = re.compile(
    r"\b(?:above|previous(?:ly)?|earlier|same (?:thing|question|one)|the (?:former|latter))\b"
    r"|^(?:and|but|so|or|also|then|what about|how about)\b",
    re.IGNORECASE,
)


def lasts(asked: str, answer: Answer) -> bool:
    """Of a model, sure, whole, and dependent neither on the day, nor on who asks, nor on what was
    said before."""
    plain = asked.replace("’", "'").strip()
    made_well = (
        answer.path == "company_specific_rag_success"
        and answer.usage.calls > 0
        and not answer.degraded
        and not (answer.cut or answer.usage.cut)
        and answer.confidence > HIGH
        and bool(answer.citations)
        # What a tool said held at that moment, also where a document alone is cited.
        and not answer.of_the_moment
    )
    asks_for_good = not any(
        found.search(plain) for found in (_OF_TODAY, _OF_THE_ASKER, _REFERS_BACK)
    )
    return made_well and asks_for_good and not _OF_AN_ANSWER.search(answer.text)
