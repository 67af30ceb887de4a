"""Checklists, put together."""

from __future__ import annotations

from functools import partial

from bot.checklist.checklist_keeper import SHOW, SUM_UP, ChecklistKeeper
from bot.checklist.checklist_posts import ChecklistPosts
from bot.checklist.half_done import half_done
from bot.checklist.kept_checklists import KeptChecklists
from bot.checklist.pressed_buttons import PRESSED, REPORTED, START, listen_to_buttons
from bot.checklist.starting_checklists import StartingChecklists
from bot.checklist.written_names import written_name
from bot.feature import Feature, IsPrivate, SayWhyNot
from bot.feature_tools import FeatureTools
from bot.memory.record import Records


def build_checklists(
    tools: FeatureTools, records: Records, is_private: IsPrivate, say_why_not: SayWhyNot
) -> Feature:
    """Runbooks as checklists. Without published documents there is nothing to offer."""
    kept = KeptChecklists(tools.engine)
    posts = ChecklistPosts(web=tools.web, kept=kept, name_of=partial(written_name, tools.web))
    keeper = ChecklistKeeper(tools=tools, kept=kept, posts=posts, say_why_not=say_why_not)
    starting = StartingChecklists(
        tools=tools, records=records, keeper=keeper, is_private=is_private
    )
    return Feature(
        listen=lambda app, store: listen_to_buttons(app, store, tools.web),
        items={
            START: starting.pressed,
            PRESSED: keeper.pressed,
            REPORTED: keeper.reported,
            SHOW: keeper.show,
            SUM_UP: keeper.sum_up,
        },
        plan=keeper.watch,
        on_event=starting.on_event,
        additions=starting.additions,
        digest=partial(half_done, kept, tools.identity.team_url),
    )
