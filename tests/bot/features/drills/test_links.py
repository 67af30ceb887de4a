"""What counts as a missing page: nothing that might only be slow, closed or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from agents.drill.checks import Drill
from bot.features.drills.outside import HOST_PAUSE, LinkChecker, NameChecker
from bot.slack.client import SlackClient
from tests.agents.corpus import domain, snapshot
from tests.agents.drill.test_drill import NOW
from tests.bot.features.drills.ward import alerts, pages

INNER = frozenset({"localhost"})


@pytest.fixture(scope="module")
def wiki() -> Iterator[str]:
    with pages() as address:
        yield address


def wrong(checker: LinkChecker, *links: str, hosts: frozenset[str] = INNER) -> list[str]:
    """The sentences of one entry with these links."""
    listed = ", ".join(f"[a page]({link})" for link in links)
    visible = snapshot(alerts(("BedFull", "SEV3", f"See {listed}", "PRE")))
    made = Drill(snapshot=visible, domain=domain(), now=NOW)
    (row,) = made.rows("ward-alerts")
    return [one.sentence for one in checker.findings(row, hosts)]


def test_a_page_that_is_not_there_is_wrong(wiki: str) -> None:
    says = "its link to localhost/gone leads to a page that is not there"
    assert wrong(LinkChecker(INNER), f"{wiki}/gone?token=secret#part") == [says]


@pytest.mark.parametrize("path", ["/here", "/locked", "/busy", "/login"])
def test_a_page_that_may_be_there_is_not_wrong(wiki: str, path: str) -> None:
    assert wrong(LinkChecker(INNER), f"{wiki}{path}") == []


def test_a_private_address_that_nobody_named_is_not_asked(wiki: str) -> None:
    assert wrong(LinkChecker(), f"{wiki}/gone") == []


def test_a_host_beside_the_list_is_not_asked(wiki: str) -> None:
    assert wrong(LinkChecker(INNER), f"{wiki}/gone", hosts=frozenset({"example.com"})) == []


def test_a_slow_host_is_given_up_for_an_hour(wiki: str) -> None:
    clock = [0.0]
    checker = LinkChecker(INNER, seconds=0.2, clock=lambda: clock[0])
    assert wrong(checker, f"{wiki}/slow") == []
    assert wrong(checker, f"{wiki}/gone") == []
    clock[0] = HOST_PAUSE + 1
    assert wrong(checker, f"{wiki}/gone")


def test_a_host_without_an_address_is_wrong() -> None:
    hosts = frozenset({"nowhere.invalid"})
    found = wrong(LinkChecker(), "https://nowhere.invalid/page", hosts=hosts)
    assert found in ([], ["its link to nowhere.invalid/page leads to a page that is not there"])


@pytest.mark.parametrize(("is_private", "said"), [(True, "an archived"), (False, "#vault, an")])
def test_the_name_of_a_private_channel_is_not_said(is_private: bool, said: str) -> None:
    class Web:
        def call(self, *_: str, **__: object) -> dict[str, object]:
            return {"channel": {"name": "vault", "is_archived": True, "is_private": is_private}}

    visible = snapshot(alerts(("BedFull", "SEV3", "Ask in C0VAULT0001", "PRE")))
    (row,) = Drill(snapshot=visible, domain=domain(), now=NOW).rows("ward-alerts")
    (finding,) = NameChecker(cast("SlackClient", Web())).findings(row)
    assert finding.sentence.startswith(f"it names {said} ")
