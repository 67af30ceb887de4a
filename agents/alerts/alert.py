"""An alert as a message describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Label = tuple[str, str]
"""Key and value; the key is '' where a message gives the value alone."""
AlertStatus = Literal["", "firing", "resolved"]

MAX_LABELS = 60
INSTANCE_KEYS = (
    "pod", "instance", "host", "hostname", "node", "container", "device", "exported_instance",
    "target", "endpoint", "url", "path", "id", "uid", "job",
)  # fmt: skip
"""Labels that identify one instance among many, the most specific first."""
SEVERITY_KEYS = frozenset(("severity", "priority", "level", "sev", "urgency", "impact"))


@dataclass(frozen=True, kw_only=True)
class Alert:
    name: str
    """As the message states it, else the best guess from the title; never empty."""
    named: bool
    """A field or the product's form states the name. False: guessed from the title."""
    title: str = ""
    """Without state, severity and emoji. Documented names are looked for in it."""
    lines: tuple[str, ...] = ()
    """The other lines, without marks of bold, code and lists."""
    status: AlertStatus = ""
    severity: str = ""
    """As the message writes it: `critical`, `P2`."""
    labels: tuple[Label, ...] = ()
    """At most `MAX_LABELS`."""
    runbooks: tuple[str, ...] = ()
    """URLs that the message gives as the alert's runbook."""
    form: str = ""
    """Id of the form that read it (`agents.alerts.forms`); `plain` or `person` for others."""
    certain: bool = True
    """False: it is an alert only where the documents have its name."""

    @property
    def where(self) -> str:
        """The instance that it fired on, `pod checkout-7f9`; '' where no label says."""
        by_key = {key.casefold(): (key, value) for key, value in self.labels if key}
        pair = next((by_key[key] for key in INSTANCE_KEYS if key in by_key), None)
        return " ".join(pair) if pair else ""
