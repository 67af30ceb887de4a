"""A turn of duty."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Shift:
    """`who` is a Slack user or group id, or an e-mail address; empty when `title` says neither."""

    start: datetime
    end: datetime
    who: str
    title: str = ""
