"""What alerts a message holds: as products post them, as people paste them, and when it is none."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from agents.alerts.alert import Alert
from agents.alerts.lines import MAX_LABELS
from agents.alerts.parser import MAX_ALERTS, alerts_in
from bot.slack.events import IncomingMessage, read


def posted(**message: Any) -> tuple[Alert, ...]:
    """As the bot reads a message of another bot."""
    event = {"type": "message", "channel": "C1", "ts": "1.1", "bot_id": "B1", **message}
    asked = read(event, bot_user="U0", team="T0")
    assert isinstance(asked, IncomingMessage)
    return alerts_in(asked.text)


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def labels(alert: Alert) -> dict[str, str]:
    return {key.casefold(): value for key, value in alert.labels if key}


def values(alert: Alert) -> set[str]:
    return {value for _, value in alert.labels}


def test_alertmanager_by_its_default_template() -> None:
    title = "[FIRING:1] KeyOverdue lockbox (RC sg)"
    link = "http://am.example/#/alerts?receiver=slack"
    (alert,) = posted(
        text="", attachments=[{"fallback": f"{title} | {link}", "title": title, "title_link": link}]
    )
    assert (alert.name, alert.status, alert.certain) == ("KeyOverdue", "firing", True)
    assert values(alert) == {"RC", "sg", "lockbox"}


def test_alertmanager_with_its_labels_in_a_list_of_two_alerts() -> None:
    text = """*Alert:* Old TLS - `critical`
*Description:* 1.2 came back
*Graph:* <http://prom.example|:chart:>
*Details:*
 • *alertname:* `OldTls`
 • *region:* `eu`
*Alert:* Old TLS - `critical`
*Details:*
 • *alertname:* `OldTls`
 • *region:* `us`"""
    found = posted(text="", attachments=[{"title": "[FIRING:2] OldTls for quay", "text": text}])
    assert [one.name for one in found] == ["OldTls", "OldTls"]
    assert [labels(one)["region"] for one in found] == ["eu", "us"]


def test_a_whole_line_that_is_a_link() -> None:
    (alert,) = posted(
        text="*<http://am.example/#/alerts?receiver=a|[FIRING:1] KafkaLag (prod eu-west-1)>*"
    )
    assert (alert.name, values(alert)) == ("KafkaLag", {"prod", "eu-west-1"})


def test_grafana_with_firing_and_resolved_ones() -> None:
    text = """**Firing**

Value: A=3, C=1
Labels:
 - alertname = OldTls
 - region = eu
Annotations:
 - summary = old TLS seen, region = nowhere
Source: http://grafana.example/alerting/x?orgId=1
Silence: http://grafana.example/alerting/silence/new?x

**Resolved**

Labels:
 - alertname = Errors5xx
 - region = us
"""
    firing, resolved = posted(
        text="", attachments=[{"title": "[FIRING:1, RESOLVED:1] (quay)", "text": text}]
    )
    assert (firing.name, firing.status, labels(firing)["region"]) == ("OldTls", "firing", "eu")
    assert firing.link == "http://grafana.example/alerting/x?orgId=1"
    assert (resolved.name, resolved.status) == ("Errors5xx", "resolved")
    assert labels(resolved)["region"] == "us"


@pytest.mark.parametrize(
    ("title", "name", "status", "severity"),
    [
        ("Triggered: [P2] LedgerDisk95 on host:db-1,region:eu", "LedgerDisk95", "firing", "P2"),
        ("[P2] [Triggered on {host:db-1,region:eu}] LedgerDisk95", "LedgerDisk95", "firing", "P2"),
        ("Re-Triggered: LedgerDisk95 on {host:db-1,region:eu}", "LedgerDisk95", "firing", ""),
        ("Recovered: LedgerDisk95 on host:db-1,region:eu", "LedgerDisk95", "resolved", ""),
        ("No data: Disk of the ledger on region:eu", "Disk of the ledger", "firing", ""),
    ],
)
def test_datadog(title: str, name: str, status: str, severity: str) -> None:
    text = (
        "Volume at 96.5 %, last triggered at Nov 25 2026 03:12:44 UTC. @slack-ops\n"
        "`max(last_5m):max:disk{host:db-1} > 0.95`"
    )
    field = {"title": "Tags", "value": "env:prod, region:eu, monitor"}
    (alert,) = posted(text="", attachments=[{"title": title, "text": text, "fields": [field]}])
    assert name in alert.names
    assert (alert.status, alert.severity) == (status, severity)
    assert labels(alert).items() >= {"region": "eu", "env": "prod"}.items()
    assert [(one.value, one.measure) for one in alert.amounts] == [(96.5, "%")]


def test_pagerduty() -> None:
    link = "https://x.pagerduty.example/incidents/Q1"
    blocks = [
        section(f"*Triggered* <{link}|#4213: PrimaryDown in hbr-eu1>"),
        {
            "type": "section",
            "fields": [
                {"type": "mrkdwn", "text": "*Service:*\n<https://x.example/s|ledger-prod>"},
                {"type": "mrkdwn", "text": "*Urgency:*\nHigh"},
                {"type": "mrkdwn", "text": "*Assigned to:*\nInes"},
            ],
        },
        {"type": "actions", "elements": []},
    ]
    (alert,) = posted(text="", blocks=blocks)
    assert (alert.name, alert.status, alert.severity) == ("PrimaryDown", "firing", "High")
    assert alert.link == link
    assert values(alert) == {"ledger-prod", "High", "hbr-eu1"}


@pytest.mark.parametrize(
    ("pretext", "title", "status"),
    [
        ("New alert created from Prometheus", "#4213: OldTls", "firing"),
        ("Opsgenie: Alert closed via web", "#4213: OldTls", "resolved"),
        ("", "[Prometheus]: OldTls region=eu", ""),
        ("", 'Alert #4213 "OldTls" is closed by Ines', "resolved"),
    ],
)
def test_opsgenie(pretext: str, title: str, status: str) -> None:
    fields = [{"title": "Priority", "value": "P2"}, {"title": "Tags", "value": "region:eu, quay"}]
    (alert,) = posted(text="", attachments=[{"pretext": pretext, "title": title, "fields": fields}])
    assert (alert.name, alert.status, alert.severity) == ("OldTls", status, "P2")
    assert labels(alert)["region"] == "eu"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("KeyOverdue class=RC region=sg", "KeyOverdue", "sg"),
        ("`KeyOverdue` class=RC, region=sg", "KeyOverdue", "sg"),
        ('KeyOverdue{class="RC", region="sg"}', "KeyOverdue", "sg"),
        ('ALERTS{alertname="KeyOverdue", region="sg"}', "KeyOverdue", "sg"),
        ("FIRING KeyOverdue on sg", "KeyOverdue", "sg"),
        ("ALERT: KeyOverdue region=sg", "KeyOverdue", "sg"),
        ("alertname: KeyOverdue\nregion: sg", "KeyOverdue", "sg"),
        ("got this one:\n[FIRING:1] KeyOverdue (sg)", "KeyOverdue", "sg"),
        ("who is to be called?\n[FIRING:1] KeyOverdue (sg)", "KeyOverdue", "sg"),
        ("I am new here, just got this:\n&gt; KeyOverdue sg\nwhat now?", "KeyOverdue", "sg"),
        ('the pager says "Queue depth orders.new" is red, now?', "Queue depth", "orders.new"),
        ("KeyOverdue is firing on sg, shall I wake somebody?", "KeyOverdue", "sg"),
        (":warning: KeyOverdue – too old (sg)", "KeyOverdue", ""),
        (":no_entry: pii-scan: PL03 in sg", "PL03", "sg"),
        ("WARN queue-watch: Queue depth orders.new = 14220", "Queue depth", "orders.new"),
        ("** PROBLEM Service Alert: db1/Disk Space is CRITICAL **", "Disk Space", ""),
    ],
)
def test_as_people_and_scripts_write_it(text: str, name: str, value: str) -> None:
    (alert,) = posted(text=text)
    assert name in alert.names
    assert not value or value in values(alert)


@pytest.mark.parametrize(
    "text",
    [
        "what does KeyOverdue mean for RC?",
        "KeyOverdue?",
        "who changed the KeyOverdue threshold last week?",
        "why did FIRING KeyOverdue come twice?",
        "resolved, thanks all :pray:",
        "fyi I muted KeyOverdue for the cache cluster until Monday",
        "Deployed quay v1.2.3 to prod: adds a metric for KeyOverdue",
        "Problem: I cannot log in",
        "we have an open issue: the dashboard is slow",
        "postmortem for KeyOverdue is at 15:00, please add your timeline",
        "KeyOverdue fired five times this week, can we change its threshold?",
        'who wrote that "Queue depth" is the worst alert?',
        "> the threshold was changed yesterday\nwho did this?",
        "region=sg class=RC",
        "",
        "   \n\t ",
        "{",
        "[]",
        '{"alerts": 3}',
        '{"labels": {"alertname": 7}}',
        '{"alerts": [null, 1, "x"]}',
        '{"title": "Weekly report", "author": "ines"}',
        "\x00\x01\x02\x03",
        "[FIRING:1]",
        "=====",
    ],
)
def test_what_is_no_alert_or_asks_something_about_one(text: str) -> None:
    assert posted(text=text) == ()


BODIES: dict[str, dict[str, Any]] = {
    "alertmanager": {
        "status": "firing",
        "alerts": [{"status": "firing", "labels": {"alertname": "OldTls", "region": "eu"}}],
    },
    "pagerduty": {
        "event": {
            "event_type": "incident.triggered",
            "data": {"title": "OldTls region=eu", "service": {"summary": "quay"}},
        }
    },
    "opsgenie": {"action": "Create", "alert": {"message": "OldTls", "tags": ["region:eu"]}},
    "datadog": {"title": "OldTls", "alert_transition": "Triggered", "tags": "region:eu,env:prod"},
}


@pytest.mark.parametrize("name", BODIES)
def test_the_body_of_a_webhook(name: str) -> None:
    (alert,) = posted(text=f"```{json.dumps(BODIES[name])}```")
    assert (alert.name, alert.status, labels(alert)["region"]) == ("OldTls", "firing", "eu")


def test_no_more_alerts_than_anybody_reads() -> None:
    many = [{"labels": {"alertname": f"Disk{n}"}} for n in range(MAX_ALERTS * 3)]
    assert len(alerts_in(json.dumps({"alerts": many})[:12_000])) <= MAX_ALERTS
    lines = "\n".join(f"[FIRING:1] Disk{n}Full" for n in range(MAX_ALERTS * 3))
    assert len(alerts_in(lines)) == MAX_ALERTS


def test_no_more_labels_than_can_be_held_against_every_cell() -> None:
    many = " ".join(f"k{n}=v{n}" for n in range(1_000))
    assert len(alerts_in(f"KeyOverdue {many}")[0].labels) == MAX_LABELS
    body = {"labels": {"alertname": "KeyOverdue", **{f"k{n}": "v" for n in range(500)}}}
    assert len(alerts_in(json.dumps(body))[0].labels) == MAX_LABELS


PIECES = [
    "[", "]", "(", "{", "}", " ", "=", '"', "'", "a=", "a= ", 'a="', 'a="b" ', '\\"', "<http://a|",
    "`", "_", "a_", ":", "a:", "a: ", "#1 ", "alert ", "[FIRING:1] A\n", "\n", "- ", "a-", "a.",
    "|", " - ", "on a ", "KeyOverdue{a=", "a b c d:", "1", "1,000", "1 ", "except ", "a:b,",
    "Labels:\n", "alertname = A\n", '{"a":', "[[", ":fire: ", "&amp;", "> A1b ", "WARN a-b: ",
]  # fmt: skip
USUAL = "[FIRING:1] KeyOverdue (RC sg)\nLabels:\n - region = sg\nIt is 96 % full, and more.\n"
MOST = 15.0


@pytest.mark.parametrize("before", ["", "[FIRING:1] KeyOverdue ", "KeyOverdue "])
@pytest.mark.parametrize("piece", PIECES)
def test_crafted_text_takes_about_as_long_as_an_alert(piece: str, before: str) -> None:
    usual = min(seconds((USUAL * 200)[:12_000]) for _ in range(2))
    text = (before + piece * (12_000 // len(piece) + 1))[:12_000] + "!A"
    assert any(seconds(text) < MOST * usual for _ in range(3))


def seconds(text: str) -> float:
    """Of this thread's processor time."""
    begun = time.thread_time()
    alerts_in(text)
    alerts_in(text, by_bot=True)
    return time.thread_time() - begun
