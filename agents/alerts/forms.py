"""The forms of monitoring products' messages (`forms.yaml`), and their words (`words.yaml`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agents.alerts.alert import AlertStatus
from enrichment.language.words import word_table

_WORDS, _REST, _QUOTE = r"[^\n]{1,200}?", r"[^\n]{0,400}", "[\"“”'‘’]"
_KINDS = {
    "name": _WORDS, "title": _WORDS, "on": r"[^\n]{1,400}?", "state": r"\w{1,40}", "_": _REST,
    "region": r"(?:US|EU|Asia|Canada|South|Africa|Middle|Israel|Mexico|[a-z]{2}-)[^|\n]{0,60}?",
    "#": r"\[?#?\d+\]?", "lines": r"(?:[^\n]*\n){0,8}?",
}  # fmt: skip
_PART = re.compile(r"\{(\w+|#)(?::((?:\\.|[^{}\\])+))?\}|([<>\"])|([^{}<>\"]+)")


@dataclass(frozen=True, kw_only=True)
class Form:
    product: str
    example: str
    name: str
    """Of the alert in the example."""
    template: str = ""
    """Empty where the plain rule reads it."""
    status: AlertStatus = "firing"
    loose: bool = False
    """People and other bots write so, too: alone it makes no alert."""

    @property
    def id(self) -> str:
        product = self.product.split(" (")[0].casefold().replace(" ", "-")
        return product if self.template else "plain"

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        text = ""
        for at, (key, choices, sign, words) in enumerate(_PART.findall(self.template)):
            if key:  # a key may come again; its number is taken off when the match is read
                is_noise = choices if key == "_" else key in {"#", "lines"}
                group = "?:" if is_noise else f"?P<{key}_{at}>"
                text += f"({group}{choices or _KINDS.get(key, r'[^ ]{1,200}?')})"
            else:
                text += {"<": "(?:", ">": ")?", '"': _QUOTE}.get(sign) or re.escape(words)
        return re.compile(text + r"[ \t]*$", re.IGNORECASE | re.MULTILINE)


def _listed(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {key: _listed(value) for key, value in kind.items()}
    return tuple(" ".join(one.split()) for one in kind.split("," if "," in kind else None))


_HERE = Path(__file__)
_TABLE = word_table(_HERE.with_name("forms.yaml"))
WORDS = _listed(word_table(_HERE.with_name("words.yaml")))
"""Kind → words, or keys of fields, or kinds of them."""
FORMS = tuple(Form(**one) for one in _TABLE["forms"])
BODIES = tuple(Form(**one) for one in _TABLE["bodies"])
"""Webhooks, each with a body as its example."""
READ = tuple(form for form in FORMS if form.template)
PRODUCTS = frozenset(
    word
    for form in FORMS
    for word in re.findall(r"[a-z]\w*", form.product.partition("(")[0].casefold())
)
"""Words of product names; a line of them alone names the sender."""
