"""What `oncall privacy` does: beside a running bot, or where there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from bot.connection import INBOX_FILE, inbox_url, whoever_is
from bot.inbox.stored_items import StoredItems, stored_items
from bot.privacy.feature_tables import FeatureTables
from bot.privacy.personal_data import Erased, PersonalData
from bot.privacy.retention import Purged, Retention, scrub_all
from config.domain import Domain
from config.settings import Settings
from index.audit import AuditLog
from index.permissions.rules import Person


@dataclass(frozen=True, kw_only=True)
class PrivacyByHand:
    settings: Settings
    engine: Engine
    features: FeatureTables
    domains: Callable[[], Mapping[str, Domain]]
    audit: AuditLog

    def purge(self) -> Purged:
        """What a bot does by itself once a day."""
        with stored_items(inbox_url(self.settings)) as items:
            if items:
                items.forget_done()
            return self._retention(items).purge()

    def daily(self) -> Purged | None:
        """The same, unless it was done today; for a server beside which no bot runs."""
        with stored_items(inbox_url(self.settings)) as items:
            return self._retention(items).daily()

    def _retention(self, items: StoredItems | None) -> Retention:
        return Retention(
            engine=self.engine,
            features=self.features,
            domains=self.domains,
            audit=self.audit,
            audit_days=self.settings.audit_days,
            unfinished=items.unfinished if items else frozenset,
            scrub=self._scrub,
        )

    def person(self, name: str) -> Person:
        """By Slack user id or e-mail address. Raises UsageError."""
        return whoever_is(self.settings, name)

    def export(self, person: Person) -> dict[str, Any]:
        with stored_items(inbox_url(self.settings)) as items:
            data = PersonalData(
                engine=self.engine, features=self.features, audit=self.audit, inbox=items
            )
            return data.export(person.slack_user, person.email)

    def erase(self, person: Person) -> Erased:
        with stored_items(inbox_url(self.settings)) as items:
            data = PersonalData(
                engine=self.engine, features=self.features, audit=self.audit, inbox=items
            )
            erased = data.erase(person.slack_user, person.email)
        self._scrub()
        return erased

    def _scrub(self) -> None:
        scrub_all(self.engine, self.settings.data_dir / INBOX_FILE)
