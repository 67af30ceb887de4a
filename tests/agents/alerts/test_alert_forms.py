"""Every form in the tables reads its example."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.alerts.alert import Alert
from agents.alerts.forms import BODIES, FORMS, Form
from agents.alerts.reader import alerts_in


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.product)
def test_the_example_of_a_form(form: Form) -> None:
    (alert,) = alerts_in(form.example, by_bot=True)
    assert (alert.name, alert.status, alert.form) == (form.name, form.status, form.id)
    assert alert.certain or form.loose


@pytest.mark.parametrize("form", [one for one in FORMS if one.template and not one.loose], ids=str)
def test_a_person_who_pastes_it_means_the_alert(form: Form) -> None:
    (alert,) = alerts_in(f"got this, what do I do?\n{form.example}")
    assert alert.name == form.name


@pytest.mark.parametrize("form", BODIES, ids=lambda form: form.product)
def test_the_body_of_a_webhook(form: Form) -> None:
    (alert,) = alerts_in(f"```{form.example}```", by_bot=True)
    assert (alert.name, alert.status, alert.form) == (form.name, form.status, "json")


def body(**values: Any) -> tuple[Alert, ...]:
    return alerts_in(json.dumps(values), by_bot=True)


def test_labels_and_runbook_of_each_alert_of_a_webhook() -> None:
    first, second = body(
        status="firing",
        alerts=[
            {
                "status": "firing",
                "labels": {"alertname": "DiskFull", "env": "prod", "severity": "critical"},
                "annotations": {"summary": "96 % used", "runbook_url": "https://r.example/disk"},
            },
            {"status": "resolved", "labels": {"alertname": "DiskFull", "env": "dev"}},
        ],
    )
    assert (first.status, first.severity, second.status) == ("firing", "critical", "resolved")
    assert set(first.labels) == {("env", "prod"), ("severity", "critical")}
    assert first.runbooks == ("https://r.example/disk",)
    assert "96 % used" in first.lines


def test_a_notification_within_a_notification() -> None:
    inner = json.dumps({"AlarmName": "queue-age-high", "NewStateValue": "OK"})
    (alert,) = body(Type="Notification", Subject="OK", Message=inner)
    assert (alert.name, alert.status) == ("queue-age-high", "resolved")


def test_dimensions_are_labels() -> None:
    dimensions = [{"name": "QueueName", "value": "orders"}]
    trigger = {"MetricName": "Age", "Dimensions": dimensions}
    (alert,) = body(AlarmName="queue-age-high", NewStateValue="ALARM", Trigger=trigger)
    assert ("QueueName", "orders") in alert.labels


@pytest.mark.parametrize(
    "text",
    [
        '{"alertname": "DiskFull", "status": "firing", "env": "prod",}',
        "{'alertname': 'DiskFull', 'status': 'firing', 'env': 'prod', 'n': None}",
        '{"status": "firing", "labels": {\n"alertname": "DiskFull",\n"env": "prod", "n": "it i',
    ],
)
@pytest.mark.parametrize("by_bot", [True, False])
def test_a_body_that_is_not_quite_json(text: str, by_bot: bool) -> None:
    (alert,) = alerts_in(text, by_bot=by_bot)
    assert (alert.name, alert.status, alert.form) == ("DiskFull", "firing", "json")
    assert ("env", "prod") in alert.labels


def test_what_somebody_did_with_an_alert_fires_nothing() -> None:
    assert body(action="Acknowledge", alert={"message": "ConsumerLag"}) == ()
    data = {"title": "ReplicationLag"}
    assert body(event={"event_type": "incident.acknowledged", "data": data}) == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"alerts": 3}', '{"labels": {"alertname": 7}}', '{"alerts": [null, 1, "x"]}', "{", "[]",
        '{"title": "Weekly report", "author": "ines"}', '{"a":' * 900, '{"alertname": ""}',
    ],
)  # fmt: skip
def test_other_json_is_no_alert(text: str) -> None:
    assert alerts_in(text) == ()
