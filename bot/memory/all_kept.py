"""Every table of the bot's features that holds something of people; see docs/privacy.md."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine

from bot.memory.alert_tables import KEPT_ALERTS, create_alert_tables
from bot.memory.kept_table import KeptTable

ALL_KEPT: tuple[KeptTable, ...] = (*KEPT_ALERTS,)
"""Purged, handed out and erased by `bot/privacy/feature_tables.py`."""
_CREATE: tuple[Callable[[Engine], None], ...] = (create_alert_tables,)


def create_kept(engine: Engine) -> None:
    """Make those that are missing; safe when several workers start at once."""
    for create in _CREATE:
        create(engine)
