"""What it costs to find out who may ask, once Slack has told: `python -m benchmarks.access`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from slack_sdk import WebClient

from bot.access.gate import Gate, Place
from bot.slack.client import SlackClient
from config.domain import Domain
from index.permissions.acts import Act
from playground.slack.tidewater import BOT_USER_ID, TEAM_ID, YOU, Channel
from playground.slack_stand_in import SlackStandIn

DOMAINS, CHANNELS_EACH, MEMBERS = 20, 3, 5_000
TIMES = 2_000


def crowded(slack: SlackStandIn) -> list[Domain]:
    """Domains with large channels; the asker is in the last channel of every second one."""
    many = {f"U1{number:06}" for number in range(MEMBERS)}
    domains = []
    for number in range(DOMAINS):
        names = [f"C1{number:03}{place}" for place in range(CHANNELS_EACH)]
        for name in names:
            inside = {YOU} if name == names[-1] and number % 2 else set()
            members = {BOT_USER_ID, *many, *inside}
            slack.workspace.add_channel(Channel(id=name, name=name, members=members))
        domains.append(
            Domain.model_validate(
                {"domain": f"d{number}", "title": "D", "channels": names, "sources": {}}
            )
        )
    return domains


def milliseconds(work: Callable[[], object]) -> list[float]:
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1000)
    return found


def print_times(what: str, checks: Mapping[str, Callable[[], object]]) -> None:
    print(f"| {what}, from memory | p50 ms | p99 ms |")
    print("|---|---|---|")
    for name, check in checks.items():
        took = milliseconds(check)
        p99 = statistics.quantiles(took, n=100)[-1]
        print(f"| {name} | {statistics.median(took):.3f} | {p99:.3f} |")


def main() -> None:
    with SlackStandIn(enforce_rate_limits=False) as slack:
        domains = crowded(slack)
        web = SlackClient(WebClient(token=slack.bot_token, base_url=slack.api_url))
        gate = Gate(web, frozenset({TEAM_ID}))
        began = time.perf_counter()
        assert len(gate.open_to(Act.DIRECT_MESSAGE, YOU, domains)) == DOMAINS // 2
        first = (time.perf_counter() - began) * 1000
        calls = len(slack.api.calls)

        def by_address() -> bool:
            visitor = gate.by_address("sam.rivers@tidewater.example")
            return gate.admits(Act.API_ASK, visitor, domains[1])

        place = Place(domain=domains[1], channel=domains[1].channels[-1])
        checks: dict[str, Callable[[], object]] = {
            "mention in a channel": lambda: gate.open_to(Act.MENTION, YOU, domains[:1]),
            "direct message": lambda: gate.open_to(Act.DIRECT_MESSAGE, YOU, domains),
            "press below an answer": lambda: gate.may_act(Act.FEEDBACK, YOU, place),
            "API, one domain": by_address,
        }
        assert by_address()
        assert gate.may_act(Act.FEEDBACK, YOU, place)
        print(f"{DOMAINS} domains, {CHANNELS_EACH} channels each, {MEMBERS:,} members each\n")
        print_times("check", checks)
        print(f"\nThe first direct message asked Slack {calls} times, in {first:,.0f} ms here.")


if __name__ == "__main__":
    main()
