"""Who uses the API: the bearer of a token, or whoever sits at this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Caller:
    name: str
    """Of the token; for logs and limits."""
    domains: frozenset[str] | None
    """What it opens; None: every domain, also those to come."""
    identity: str = ""
    """E-mail as whom documents are read when no asker is named; empty: nobody in particular."""
    speaks_for_people: bool = False
    """Its `asker_email` is believed."""
    metrics: bool = False
    local: bool = False
    """The operator at this machine: no limits of rate, and failures are told in full."""

    def opens(self, domain: str) -> bool:
        return self.domains is None or domain in self.domains


THIS_MACHINE = Caller(
    name="this machine", domains=None, speaks_for_people=True, metrics=True, local=True
)
OPERATOR = Caller(name="ONCALL_API_TOKEN", domains=None, metrics=True)
"""Bears the operator's one token: every domain, as nobody in particular."""
