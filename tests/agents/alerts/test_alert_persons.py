"""A person's message is an alert only where it says so, and asks nothing else about it."""

from __future__ import annotations

import pytest

from agents.alerts.reader import alerts_in


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("HostDown just fired on db-1 in prod, where is the runbook?", "HostDown", "db-1"),
        ("HostDown popped up for the host db-1, what do I do first?", "HostDown", "db-1"),
        ("morning! HD on prod is red since 23:50, is that one for me?", "HD", "prod"),
        ("Basket latency p95 is firing on shop:de, all is slow", "Basket latency p95", "shop:de"),
        ("KeyOverdue is going off again, what do I do first?", "KeyOverdue", ""),
        ("KeyOverdue fired on staging, anything to do?", "KeyOverdue", "staging"),
        ("I just got paged for KafkaConsumerLag, what now?", "KafkaConsumerLag", ""),
        ("HighErrorRate alert on cart, runbook?", "HighErrorRate", "cart"),
        ("FIRING KeyOverdue on sg", "KeyOverdue", "sg"),
        ("alarm queue-age-high in eu-west-1", "queue-age-high", "eu-west-1"),
        ('the pager says "Queue depth orders" is red, now?', "Queue depth orders", ""),
        ("got this one:\n[FIRING:1] KeyOverdue (sg)", "KeyOverdue", "sg"),
        ("who is to be called?\n[FIRING:1] KeyOverdue (sg)", "KeyOverdue", "sg"),
        ("got paged\n> Triggered: KeyOverdue on env:sg\nwhat now?", "KeyOverdue", "sg"),
        ("#4411: KeyOverdue\nPriority: P2", "KeyOverdue", "P2"),
        ("KeyOverdue class=RC region=sg", "KeyOverdue", "sg"),
        ('KeyOverdue{class="RC", region="sg"}', "KeyOverdue", "sg"),
        ("db-watch: HOST_DOWN env=prod host=db-1", "HOST_DOWN", "db-1"),
        ('ALERTS{alertname="KeyOverdue", region="sg"}', "KeyOverdue", "sg"),
        ("[FIRING:1] CacheDown (cache prod critical) - anyone on it?", "CacheDown", "prod"),
        ("PROBLEM: CacheDown on eu-prod, severity critical, since 03:12", "CacheDown", "eu-prod"),
        ("my phone shows this:\nALERT CacheDown\nseverity: critical", "CacheDown", "critical"),
        ("me ha llegado:\n```\nalerta: CacheDown\nseveridad: high\n```", "CacheDown", "high"),
        ("swap_used on web-2, 3 times today, WARNING, raised 03:14", "swap_used", "web-2"),
        ("CacheDown on prod - severity: high. Runbook?", "CacheDown", "prod"),
        ("swap_used on web-2: it swaps (critical since 5 min)", "swap_used", "web-2"),
        ('{"AlarmName": "queue-age-high", "NewStateValue": "ALARM"}', "queue-age-high", ""),
    ],
)
def test_it_says_so(text: str, name: str, value: str) -> None:
    (alert,) = alerts_in(text)
    assert alert.name == name
    assert value in f"{alert.title} {alert.labels}"


@pytest.mark.parametrize(
    "words",
    [
        "¿qué hago?", "was tun?", "Was soll ich jetzt machen?", "que faire ?", "cosa devo fare?",
        "o que eu faço agora?", "wat moet ik doen?", "co robić?", "что делать?", "ne yapmalıyım?",
    ],
)  # fmt: skip
def test_what_to_do_is_asked_in_other_languages(words: str) -> None:
    for text in (f"{words}\n[FIRING:1] KeyOverdue (sg)", f"[FIRING:1] KeyOverdue (sg)\n{words}"):
        assert [one.name for one in alerts_in(text)] == ["KeyOverdue"]


@pytest.mark.parametrize(
    "text",
    [
        "what does KeyOverdue mean for RC?", "KeyOverdue?", "why did FIRING KeyOverdue come twice?",
        "who changed the KeyOverdue threshold last week?", "resolved, thanks all :pray:",
        "fyi I muted KeyOverdue for the cache cluster until Monday", "Problem: I cannot log in",
        "KeyOverdue fired five times this week, can we change its threshold?",
        "HostDown popped up in the audit list of 2024, is it still used?",
        "postmortem for KeyOverdue is at 15:00, please add your timeline",
        'who wrote that "Queue depth" is the worst alert?', "HostDown on prod",
        "Can someone explain:\n[FIRING:1] KeyOverdue (sg)\nis it still used by billing?",
        "> the threshold was changed yesterday\nwho did this?", "region=sg class=RC",
        "is region=sg the one with HostDown env=prod?", "HostDown env=prod\nwho owns this table?",
        "who wrote the runbook of HighErrorRate?", "how do I silence an alert?",
        "HostDown on page 3", "CacheDown on eu, critical, can we raise its threshold?",
        "DatabaseError at /admin (critical)", "QueueTimeoutException in cart, severity: high",
        "alert: CacheDown\nfor: 5m\nlabels:\nseverity: critical",
        "HostDown is firing because of cart v2, should we roll back or wait for the cache?",
    ],
)  # fmt: skip
def test_it_asks_something_else(text: str) -> None:
    assert alerts_in(text) == ()


LOGS = [
    "ERROR 429 too many requests",
    "ERROR: Cannot connect to the container daemon",
    "[CRITICAL] disk full on db-1",
    "2025-11-25T10:00:01Z ERROR importer OutOfMemoryError: heap space",
    "FAILED tests/test_a.py::test_b - AssertionError: 1 != 2",
    "Traceback (most recent call last):\n  File 'run.py', line 41\nMemoryError: out of memory",
    "nginx: [alert] 12#0: worker exited",
    "[12345.6] CRITICAL: fault\nlevel=error host=db-1 msg=failed",
    "- alert: DiskFull\n  expr: x > 1\n  labels:\n    severity: critical",
    "[web] ValueError: bad input",
    "x is down. Retrying",
    '{"status": "failed", "name": "x"}',
]


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize(
    "question",
    [
        "how many requests does the widget API allow?\n{}", "{}\nneed help with my build please",
        "My build fails with\n{}\nwhat can I do about the importer?",
        "why does my build fail?\n```\n{}\n```", "wie viele Anfragen sind erlaubt?\n{}",
    ],
)  # fmt: skip
def test_a_question_with_pasted_lines_is_a_question(log: str, question: str) -> None:
    assert alerts_in(question.format(log)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "prod is down lol", "down for lunch", "deploy resolved the issue", "ok", "pizza alert",
        "CRITICAL: anyone has a charger?", "the alert is gone", "coffee machine alert!!",
        "I fired the intern lol", "new alert channel is #alerts", "we triggered a deploy",
        "someone triggered the fire alarm in building 2", "false alarm", "warning: wet floor",
        "alarm clock didn't go off", "the alert fatigue is real", "Resolved - thanks",
        "Monitoring - we should do more of it", "Investigating - give me 5 minutes",
        'OK: "fine" in my opinion', "DOWN | for maintenance", "#12: fix the login page",
        "Incident #12 resolved: I closed it", "Alert: standup in 5 minutes", "is the server up?",
        ":warning: heads up, how many requests does it allow? we plan a test\nthanks!",
        "good morning", "can you add an alert for disk space?", "who is firing on all cylinders?",
    ],
)  # fmt: skip
def test_chat_is_no_alert(text: str) -> None:
    assert alerts_in(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "The mood is firing on reports", "main is red", "CartJob in cart\nlevel: error\nmsg: no",
    ],
)  # fmt: skip
def test_plain_words_count_only_where_the_documents_name_them(text: str) -> None:
    (alert,) = alerts_in(text)
    assert not alert.certain


def test_statements_before_a_pasted_alert_are_few() -> None:
    body = '{\n "alertname": "KeyOverdue",\n "status": "firing"\n}'
    (alert,) = alerts_in(f"from the dead letters of our hook, nobody saw it:\n```{body}```")
    assert (alert.name, alert.status) == ("KeyOverdue", "firing")
    assert alerts_in(f"the parser throws on this, which field is missing?\n```{body}```") == ()
    assert alerts_in(f"{'one more word ' * 9}\n[FIRING:1] KeyOverdue (sg)") == ()
