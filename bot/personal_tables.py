"""Every table of the bot's features that holds something of people; see docs/privacy.md."""

from __future__ import annotations

from bot.memory.aging_tables import AGING_KEPT, create_aging_tables
from bot.memory.alert_tables import KEPT_ALERTS, create_alert_tables
from bot.memory.call_tables import KEPT_CALLS, create_calls
from bot.memory.checklist_tables import CHECKLISTS_KEPT, create_checklist_tables
from bot.memory.digest_tables import KEPT_DIGESTS, create_digests
from bot.memory.gap_tables import KEPT_OF_GAPS, create_gap_tables
from bot.memory.owner_tables import KEPT_OF_OWNERS, create_owner_tables
from bot.memory.proposals import propose
from bot.privacy.feature_tables import FeatureTables

FEATURE_TABLES = FeatureTables(
    tables=(
        *KEPT_ALERTS,
        *CHECKLISTS_KEPT,
        KEPT_CALLS,
        KEPT_DIGESTS,
        *KEPT_OF_OWNERS,
        *KEPT_OF_GAPS,
        *AGING_KEPT,
    ),
    creators=(
        create_alert_tables,
        create_checklist_tables,
        create_calls,
        create_digests,
        create_owner_tables,
        create_gap_tables,
        create_aging_tables,
    ),
    proposals=propose,
)
