"""What a bot's message says: name, state, labels, and when it is no alert."""

from __future__ import annotations

import json

import pytest

from agents.alerts.alert import MAX_LABELS, Alert
from agents.alerts.posts import MAX_ALERTS
from agents.alerts.reader import alerts_in


def posted(text: str) -> tuple[Alert, ...]:
    return alerts_in(text, by_bot=True)


@pytest.mark.parametrize(
    ("text", "name", "status"),
    [
        ("KubePodCrashLooping\ncart-1 ends soon after each start.", "KubePodCrashLooping", ""),
        (":fire: KubePodCrashLooping\ncart-1 ends", "KubePodCrashLooping", "firing"),
        ("[RESOLVED] KubePodCrashLooping\ncart-1 ends", "KubePodCrashLooping", "resolved"),
        (":rotating_light: Payment queue lag is at 900", "Payment queue lag", "firing"),
        ("[FIRING:1] Too many dead tuples", "Too many dead tuples", "firing"),
        ("CRITICAL - Disk almost full - db-1", "Disk almost full", "firing"),
        ("WARN queue-watch: Queue depth orders.new = 14220", "Queue depth", "firing"),
        ("airflow-watch: airflow_dag_late dag=billing", "airflow_dag_late", ""),
        ("@here Attention!\nDisk almost full on db-1", "Disk almost full", "firing"),
        ("Grafana\nPayment queue lag\nState: alerting", "Payment queue lag", "firing"),
        ("Prometheus Alert Firing\nHigh Severity\nPodCrashes", "PodCrashes", "firing"),
        ("PROBLEM\nProblem: Disk is slow\nHost: db-4", "Disk is slow", "firing"),
        ("Monitor: shop\nStatus: Down", "shop", "firing"),
        ("Notification Type: RECOVERY\nService: Disk\nHost: db-1", "Disk", "resolved"),
        ("✅ Incident resolved\n*Monitor:* shop front page", "shop front page", "resolved"),
        ("nightly-backup has failed", "nightly-backup", "firing"),
        ("nightly-backup recovered", "nightly-backup", "resolved"),
        ("Backup job failed", "Backup job failed", "firing"),
        ("[ALERT - Warning] CPU high on prod-vm", "CPU high", "firing"),
        ("Monitoring - Errors of the gateway", "Errors of the gateway", ""),
        ("[P1] [Re-Triggered on {host:web-1}] [shop] CPU high", "CPU high", "firing"),
        ("[RESOLVED] Uptime Kuma Alert\n[api] [✅ Up] 200", "api", "resolved"),
        ("CloudWatch Alarm | cpu | eu-west-1\nState change: ALARM → OK", "cpu", "resolved"),
        ("#4473: RefundBacklog\nAlert closed by integration", "RefundBacklog", "resolved"),
        ("[FIRING:1] (dag_late billing warning)", "dag_late", "firing"),
        ("[FIRING:1] dag_late (eu_billing airflow warning)", "dag_late", "firing"),
        ("No data: Disk of the ledger on region:eu", "Disk of the ledger", "firing"),
        ("HOST: db-1  SERVICE: My SQL  STATE: CRITICAL", "My SQL", "firing"),
        ("SERVICE: https://shop.example/a  STATE: OK", "shop.example/a", "resolved"),
        ("Triggered: [#12] gauss - QueueLate", "QueueLate", "firing"),
        ("code=MX-2040 line=pulp", "MX-2040", ""),
        (":x: Knife blunt on chipper 2", "Knife blunt on chipper 2", "firing"),
        ("Störung: Festplatte voll", "Festplatte voll", "firing"),
        ("[恢复] 订单队列积压", "订单队列积压", "resolved"),
        (
            ":fire: FIRING BadJobsRateHigh [prod-1] Jobs are bad | severity=critical cluster=a",
            "BadJobsRateHigh",
            "firing",
        ),
    ],
)
def test_name_and_state(text: str, name: str, status: str) -> None:
    (alert,) = posted(text)
    assert (alert.name, alert.status) == (name, status)


@pytest.mark.parametrize(
    "text",
    [
        "Deployed cart v2.41.0 to prod by the release bot. No errors.",
        ":package: Deployed cart 4.2: finer limits for CartDown",
        "Scheduled - Maintenance of the gateway on Sunday",
        ":construction: Scheduled maintenance of db-1",
        "Silence created for HighErrorRate by ines",
        "Acknowledged: [#5511] ReplicationLag on db-2",
        'ines acknowledged alert "#4411: ConsumerLag"',
        "We have muted PUMP_DRY until Monday",
        "The boiler is back, the cause of PUMP_DRY was a fuse",
        "Weekly report: 12 alerts",
        "cart-prod\n:white_check_mark: Application cart-prod has been successfully synced",
        "[RESOLVED] cart-prod\n:white_check_mark: Application has been successfully synced",
        "https://mill.example/PUMP_DRY",
        "[RESOLVED] GitHub Actions: build-and-push on main succeeded",
        "[FIRING:1]",
        "[FIRING:1] {{ .GroupLabels.alertname }} <no value>",
        "{{ $labels.alertname }} firing",
        "=====",
        "",
        " \n\t ",
        "\x00\x01\x02\x03 DiskFull",
    ],
)
def test_what_fires_nothing(text: str) -> None:
    assert posted(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "good morning", "x", "[FIRING:2] shop (monitoring/k8s warning)",
        "snmp01 trap *upsOnBattery* from ups-b: Output source battery, 12 min of runtime left",
    ],
)  # fmt: skip
def test_words_without_a_sign_count_only_where_the_documents_name_them(text: str) -> None:
    (alert,) = posted(text)
    assert not alert.certain


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[FIRING:1] shop (CartDown cart http 10.2.3.4:80 monitoring/k8s warning)", True),
        ("[FIRING:1] CartDown (PaymentApi cart)", True),
        ("[FIRING:1] CartCacheDown web", True),
        ("Problem: MySQL: Buffer pool is too small (over 5m)", False),
        ("[FIRING:1] (CartDown cart-1 warning)", True),
        ("[FIRING:1] Too many dead tuples", False),
        ("Investigating - Errors of CardGateway", False),
        ("alertname: disk\nenv: prod", True),
    ],
)
def test_a_name_is_stated_or_guessed(text: str, named: bool) -> None:
    (alert,) = posted(text)
    assert alert.named is named


def test_names_in_the_text_below_a_title_that_groups_them() -> None:
    text = "[FIRING:2] shop (monitoring/k8s warning)\n*Alert:* CartDown\n*Alert:* RedisFull"
    assert [one.name for one in posted(text)] == ["CartDown", "RedisFull"]


def test_each_alert_of_a_group_has_its_own_labels_and_state() -> None:
    text = """[FIRING:1, RESOLVED:1] Data
**Firing**
Labels:
 - alertname = TableLate
 - env = prod
Annotations:
 - summary = late, env = nowhere
 - runbook_url = https://r.example/table-late
**Resolved**
Labels:
 - alertname = TestFailed
 - model = orders"""
    late, failed = posted(text)
    assert (late.name, late.status, late.labels) == ("TableLate", "firing", (("env", "prod"),))
    assert late.runbooks == ("https://r.example/table-late",)
    assert (failed.name, failed.status) == ("TestFailed", "resolved")
    assert ("env", "prod") not in failed.labels


def test_a_rule_without_data_is_called_by_its_own_name() -> None:
    text = "[FIRING:1] DatasourceNoData X\nLabels:\n - alertname = DatasourceNoData\n"
    (alert,) = posted(f"{text} - rulename = Payment queue lag")
    assert alert.name == "Payment queue lag"


def test_two_products_in_one_message() -> None:
    text = "[FIRING:1] DiskFull on db-1\nTriggered: [#12] KafkaLag on k-1\nService: kafka"
    disk, kafka = posted(text)
    assert (disk.name, disk.form) == ("DiskFull", "alertmanager")
    assert (kafka.name, kafka.form) == ("KafkaLag", "pagerduty")
    assert kafka.labels == (("Service", "kafka"),)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (
            "Triggered: [cart] Errors on env:prod,service:cart",
            {("env", "prod"), ("service", "cart")},
        ),
        ("[FIRING:1] CardErrors\nenv=prod team=pay", {("env", "prod"), ("team", "pay")}),
        ("Problem: Disk\nEvent tags: group: SQL servers, a: b", {("group", "SQL servers")}),
        ("Problem: Disk full\nHost: db-4 [10.0.0.4]", {("Host", "db-4")}),
        ("[CRITICAL] PodDown | *Cluster:* prod-eu", {("Cluster", "prod-eu")}),
        ("Triggered: [#1] Disk\n*Service:*\n<https://x.example|ledger>", {("Service", "ledger")}),
        ("DOWN: shop\nTarget: https://shop.example/fr?a=b", {("Target", "shop.example/fr")}),
        ("Memory\nState: DOWN Host: https://n.example/show?host=db-9", {("Host", "db-9")}),
        ("[FIRING:1] (x critical)\n● alertname `DiskFull`\n● env `prod`", {("env", "prod")}),
    ],
)
def test_labels(text: str, labels: set[tuple[str, str]]) -> None:
    (alert,) = posted(text)
    assert labels <= set(alert.labels)


@pytest.mark.parametrize(
    "line",
    [
        "*Runbook:* <https://r.example/a|:notebook:>", "<https://r.example/a|Runbook>",
        "runbook_url = https://r.example/a", "Runbook: https://r.example/a.",
        "<https://d.example|Dashboard> <https://r.example/a|Runbook> <https://e.example|Graph>",
    ],
)  # fmt: skip
def test_the_runbook_that_a_message_links(line: str) -> None:
    (alert,) = posted(f"[FIRING:1] DiskFull\n{line}")
    assert alert.runbooks == ("https://r.example/a",)


REASON = (
    "Threshold Crossed: 2 out of the last 2 datapoints [2410.0 (24/11/26 03:02:00), 1900.0 "
    "(24/11/26 03:01:00)] were greater than the threshold (1800.0)."
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f'ALARM: "queue-age" in EU\nAlarm reason: {REASON}', "2410.0"),
        (f'ALARM: "queue-age" in EU\n{REASON}', "2410.0"),
        (json.dumps({"AlarmName": "queue-age", "NewStateReason": REASON}), "2410.0"),
        ("[shop][https://shop.example] certificate shop.example will expire in 9 days", "9 days"),
        ("[shop] [🔴 Down] timeout of 48000ms exceeded", "48000ms"),
        ("Monitor is DOWN: shop - Reason: certificate expires in 2 days", "2 days"),
        (f"queue-age state is now ALARM: {REASON}", "2410.0"),
        ("DOWN: shop\n<https://n.example/alarm?region=eu-west-1&x=2|Open>", "eu-west-1"),
        ("shop :: db-1 :: Disk usage\n\tWARNINGs: /var is 93.10 (outside [:92]).", "93.10"),
    ],
)
def test_measured_values_are_kept(text: str, value: str) -> None:
    (alert,) = posted(text)
    assert value in f"{alert.lines} {alert.labels}"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("Service PROBLEM notification\nHost: db-1\nService: Memory\nState: WARN", "WARN"),
        ("HOST: db-1  SERVICE: My SQL  STATE: CRITICAL", "CRITICAL"),
        ("Check_MK: db-1/Memory OK -> CRIT", "CRIT"),
        ("Status: Firing Source: Alertmanager Priority: P1\nMonitor: shop", "P1"),
        ("Monitor: shop\nStatus: Down", ""),
    ],
)
def test_a_state_may_rate_the_alert(text: str, severity: str) -> None:
    assert posted(text)[0].severity == severity


def test_links_are_no_labels() -> None:
    links = "Graph URL: https://g.example/a?b=1\nPanel: https://g.example/c?d=2\n"
    (alert,) = posted(f"[FIRING:1] DiskFull\n{links}Link to Alarm: https://g.example/e=3")
    assert (alert.labels, alert.lines) == ((), ())


def test_prose_is_kept_as_lines_and_names_nothing() -> None:
    (alert,) = posted("Disk almost full\nSummary: CartDown is not the cause\nSeverity: P2")
    assert (alert.name, alert.severity) == ("Disk almost full", "P2")
    assert alert.lines == ("Summary: CartDown is not the cause",)


def test_bounds() -> None:
    many = " ".join(f"k{n}=v{n}" for n in range(10_000))
    assert len(posted(f"KeyOverdue {many}")[0].labels) == MAX_LABELS
    labels = {**{f"k{n}": f"v{n}" for n in range(10_000)}, "alertname": "KeyOverdue"}
    (alert,) = posted(json.dumps({"labels": labels}))
    assert (alert.name, len(alert.labels)) == ("KeyOverdue", MAX_LABELS)
    titles = "\n".join(f"[FIRING:1] Disk{n}Full" for n in range(MAX_ALERTS * 3))
    assert len(posted(titles)) == MAX_ALERTS


def test_where_it_fired() -> None:
    assert Alert(name="x", named=True, labels=(("job", "a"), ("pod", "p-1"))).where == "pod p-1"


PIECES = [
    "[", "]", "(", "{", "}", " ", "=", '"', "'", "a=", "a= ", 'a="', 'a="b" ', '\\"', "<http://a|",
    "`", "_", "a_", ":", "a:", "a: ", "#1 ", "alert ", "[FIRING:1] A\n", "\n", "- ", "a-", "a.",
    "|", " - ", "on a ", "KeyOverdue{a=", "a b c d:", "1", "1,000 ", "is ", "Labels:\n", "runbook ",
    "alertname = A\n", '{"a":', "[[", ":fire: ", "&amp;", "> A1b ", "WARN a-b: ", "Incident is \n",
    "Aa", "A", "alert for a ", "“a” is ", "{{ ", "P1 ", "resolved ",
]  # fmt: skip


@pytest.mark.parametrize("before", ["", "[FIRING:1] KeyOverdue "])
@pytest.mark.parametrize("piece", PIECES)
def test_crafted_text_is_read(piece: str, before: str) -> None:
    """No pattern may look at it again and again: such a test would not end."""
    text = (before + piece * (12_000 // len(piece) + 1))[:12_000] + "!A"
    for by_bot in (True, False):
        assert len(alerts_in(text, by_bot=by_bot)) <= MAX_ALERTS


@pytest.mark.parametrize(
    "text",
    [
        "[RESOLVED] Pull request opened by ines\n#41 chart: raise the limit", "Job Done :tada:",
        "cart-prod\n:white_check_mark: Application cart-prod is healthy", "[RESOLVED] Nightly #88",
        "Ines created a Task\nOPS-22 Write a runbook\nPriority: Medium", "[OK] Queue of the shop",
    ],
)  # fmt: skip
def test_green_messages_of_other_bots_count_only_where_the_documents_name_them(text: str) -> None:
    assert not any(one.certain for one in posted(text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (":fire: less than 1 reload status", "less than 1 reload status"),
        ("Problem: PgBouncer saturation", "PgBouncer saturation"),
        ("Problem: Interface Gi2/0/11(): Link down", "Interface Gi2/0/11(): Link down"),
        (":fire: *PROBLEM* - <https://i.example/show?host=db-9|db-9> / Disk is *CRITICAL*", "Disk"),
        ("Monitor is DOWN: <https://login.example/a> - Reason: 502", "login.example/a"),
        ("[FIRING:2] (logging eks-main critical)\n*CartCacheDown* no pods", "CartCacheDown"),
        ("[FIRING] Incident started\nfront page", "front page"),
        ("New incident started\nfront page\nCause: Timeout", "front page"),
        ("New incident front page started\nCause: Timeout", "front page"),
        ("Alert recovered: CartDown\nCondition: rate\nPolicy: CartDown", "CartDown"),
    ],
)
def test_a_name_is_no_fragment(text: str, name: str) -> None:
    assert posted(text)[0].name == name
