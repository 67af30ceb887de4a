"""What the Grafana dashboard shows, in the order in which somebody who was woken looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OURS = '{job=~".*oncall.*"}'
DOMAIN = '{domain=~"$domain"}'
RECENT = "[$__rate_interval]"
STAT_HEIGHT, PLOT_HEIGHT = 4, 7

Kind = Literal["stat", "timeseries", "table"]


@dataclass(frozen=True)
class Series:
    """One question to Prometheus."""

    expr: str
    legend: str = ""
    """With `{{label}}` for a label's value."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    title: str
    says: str
    """What it means, for who has not seen it before."""
    series: tuple[Series, ...]
    unit: str = "short"
    """As Grafana names it."""
    kind: Kind = "timeseries"
    width: int = 8
    """Of 24 columns."""
    height: int = PLOT_HEIGHT
    good_from: float | None = None
    """Below it is bad."""
    bad_from: float | None = None


@dataclass(frozen=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


def plot(title: str, says: str, *series: Series, unit: str = "short", width: int = 8) -> Panel:
    return Panel(title=title, says=says, series=series, unit=unit, width=width)


def stat(
    title: str,
    says: str,
    one: Series,
    *,
    unit: str = "short",
    good_from: float | None = None,
    bad_from: float | None = None,
) -> Panel:
    return Panel(
        title=title,
        says=says,
        series=(one,),
        unit=unit,
        kind="stat",
        width=4,
        height=STAT_HEIGHT,
        good_from=good_from,
        bad_from=bad_from,
    )


def table(title: str, says: str, expr: str, *, height: int = PLOT_HEIGHT) -> Panel:
    return Panel(title=title, says=says, series=(Series(expr),), kind="table", height=height)


def quantiles(metric: str, *, by: str = "", only: str = "") -> tuple[Series, ...]:
    """Median and 95th percentile of a histogram; with `by` the latter for each of its values."""
    labels = f"le, {by}" if by else "le"
    shares = ((0.95, "p95"),) if by else ((0.5, "median"), (0.95, "p95"))
    return tuple(
        Series(
            f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{only}{RECENT})))",
            f"{{{{{by}}}}} {name}" if by else name,
        )
        for share, name in shares
    )


def each_hour(metric: str, by: str, only: str = "") -> Series:
    return Series(f"sum by ({by}) (rate({metric}{only}{RECENT})) * 3600", _legend(by))


def in_a_day(metric: str, by: str, only: str = "") -> Series:
    return Series(f"sum by ({by}) (increase({metric}{only}[1d]))", _legend(by))


def highest(metric: str) -> Series:
    """Of all processes, for each domain."""
    return Series(f"max by (domain) ({metric}{DOMAIN})", "{{domain}}")


def _legend(by: str) -> str:
    return " · ".join(f"{{{{{label}}}}}" for label in by.split(", "))


ROWS = (
    Row(
        "Can it answer?",
        (
            table(
                "Alerts that fire",
                "Each has its section in runbooks.md.",
                "group by (alertname, severity, job, instance, domain) "
                '(ALERTS{alertname=~"Oncall.*", alertstate="firing"})',
                height=STAT_HEIGHT,
            ),
            stat(
                "Ready processes",
                "A question asked now would be answered at once.",
                Series("sum by (job) (oncall_ready)", "{{job}}"),
                good_from=1,
            ),
            stat(
                "Workers with a lease",
                "They may begin work; without the database none has one.",
                Series("sum by (job) (oncall_lease_held >= 0)", "{{job}}"),
                good_from=1,
            ),
            stat(
                "Connected to Slack",
                "Workers with an open socket; no figure where events come over HTTP.",
                Series("sum(oncall_socket_connected >= 0)", "workers"),
                good_from=1,
            ),
            stat(
                "Oldest question",
                "How long the stored question that waits longest has waited.",
                Series("max(oncall_inbox_oldest_seconds)", "waits"),
                unit="s",
                bad_from=180,
            ),
            plot(
                "What readiness waits for",
                "database: away; recovery: of dead workers' work; slack: no socket; index, "
                "warming: domains that are not open yet; worker: it is down.",
                Series("sum by (missing) (oncall_not_ready)", "{{missing}}"),
            ),
            plot(
                "Inbox",
                "Stored and not yet worked off, over all workers.",
                Series("max(oncall_inbox_backlog)", "items"),
            ),
            plot(
                "Failed questions an hour",
                "They ended in an apology with a reference, which is in the log.",
                each_hour("oncall_questions_failed_total", "domain", DOMAIN),
            ),
        ),
    ),
    Row(
        "How long do people wait?",
        (
            plot(
                "Mention to first sign",
                "From a question's time in Slack to the first that its asker sees.",
                *quantiles("oncall_first_sign_seconds"),
                unit="s",
            ),
            plot(
                "Mention to whole answer",
                "95th percentile by domain.",
                *quantiles("oncall_mention_to_answer_seconds", by="domain", only=DOMAIN),
                unit="s",
            ),
            plot(
                "Each agent",
                "95th percentile of what one agent took for one question.",
                *quantiles("oncall_node_seconds", by="node"),
                unit="s",
            ),
        ),
    ),
    Row(
        "Is it right?",
        (
            plot(
                "Answers an hour, by path",
                "company_specific_rag_success: answered; passages_found: where to look; "
                "no_answer_found: refused.",
                each_hour("oncall_answer_seconds_count", "path", DOMAIN),
            ),
            plot(
                "Fallbacks an hour",
                "Agents that went on without their model, by agent and reason.",
                each_hour("oncall_fallbacks_total", "node, reason", DOMAIN),
            ),
            plot(
                "Refusals an hour",
                "Questions without an answer, by reason.",
                each_hour("oncall_refusals_total", "reason", DOMAIN),
            ),
            plot(
                "Questions in a day that the documents answered",
                "Share, by the kind of question and the strategy of its search; the rest got "
                "passages, a question back or a refusal.",
                Series(
                    "sum by (kind, strategy) (increase(oncall_answers_total"
                    '{domain=~"$domain", path="company_specific_rag_success"}[1d])) / '
                    f"sum by (kind, strategy) (increase(oncall_answers_total{DOMAIN}[1d]))",
                    "{{kind}} · {{strategy}}",
                ),
                unit="percentunit",
            ),
            plot(
                "Attempts for an answer",
                "Searches and drafts, on average; more than usual: the first search finds less.",
                Series(
                    f"sum by (what) (rate(oncall_answer_attempts_sum{DOMAIN}{RECENT})) / "
                    f"sum by (what) (rate(oncall_answer_attempts_count{DOMAIN}{RECENT}))",
                    "{{what}}",
                ),
            ),
            plot(
                "Answers without the model",
                "Share of all answers.",
                Series(
                    f"sum by (domain) (rate(oncall_degraded_total{DOMAIN}{RECENT})) / "
                    f"sum by (domain) (rate(oncall_answer_seconds_count{DOMAIN}{RECENT}))",
                    "{{domain}}",
                ),
                unit="percentunit",
            ),
            plot(
                "Feedback in a day",
                "Buttons under answers.",
                in_a_day("oncall_feedback_total", "verdict"),
            ),
            plot(
                "Permission checks an hour",
                "heard; kept: nobody answered, and what was heard lately still counts; "
                "unknown: the question got no answer.",
                each_hour("oncall_permission_checks_total", "outcome"),
            ),
        ),
    ),
    Row(
        "People, and what the documents don't say",
        (
            plot(
                "Hand-offs that wait",
                "Asked for in the last week, and taken by nobody.",
                highest("oncall_handoffs_waiting"),
            ),
            plot(
                "Longest wait for a human",
                "Of the hand-offs that nobody has taken; the clock calls the next level.",
                highest("oncall_handoffs_oldest_seconds"),
                unit="s",
            ),
            plot(
                "Calls of people in a day",
                "first; again: nobody came; level-…: the next level; shift: whoever came on call "
                "later; freed: who had taken it is gone.",
                in_a_day("oncall_handoff_calls_total", "step", DOMAIN),
            ),
            plot(
                "Until somebody takes it",
                "95th percentile by domain.",
                *quantiles("oncall_handoff_taken_seconds", by="domain", only=DOMAIN),
                unit="s",
            ),
            plot(
                "Until it is resolved",
                "95th percentile by domain.",
                *quantiles("oncall_handoff_resolved_seconds", by="domain", only=DOMAIN),
                unit="s",
            ),
            plot(
                "Alerts in a day",
                "Of the bots on `alert_bots`; no_runbook: the documents know nothing of it. And "
                "how snoozes ended.",
                in_a_day("oncall_alerts_total", "outcome", DOMAIN),
                in_a_day("oncall_snoozes_total", "end", DOMAIN),
            ),
            plot(
                "Uses of runbooks in a day",
                "Of alerts of three days before, with `runbooks.track_record`; unknown: nobody "
                "graded it, and nothing else says how it went.",
                in_a_day("oncall_runbook_uses_total", "outcome", DOMAIN),
            ),
            plot(
                "Open gaps",
                "What was asked in vain, put together; `oncall gaps` lists them.",
                highest("oncall_gaps_open"),
                width=12,
            ),
            plot(
                "Gaps closed in a day",
                "The documents answer them by now.",
                in_a_day("oncall_gaps_closed_total", "domain", DOMAIN),
                width=12,
            ),
            plot(
                "Runbook entries by their latest drill",
                "fine, or the kind of what is to mend; `oncall drill` lists it.",
                Series(
                    f"max by (domain, outcome) (oncall_drilled_entries{DOMAIN}) > 0",
                    "{{domain}} · {{outcome}}",
                ),
                width=12,
            ),
            plot(
                "Time since the last drill",
                "Of domains with `runbooks.drill`.",
                Series(
                    f"time() - max by (domain) (oncall_drilled_timestamp_seconds{DOMAIN})",
                    "{{domain}}",
                ),
                unit="s",
                width=12,
            ),
        ),
    ),
    Row(
        "Is the index fresh?",
        (
            plot(
                "Age of the index",
                "Since the last run that ended well began; what was edited later is missing.",
                highest("oncall_index_age_seconds"),
                unit="s",
            ),
            plot(
                "Overdue",
                "1: a run is later than the domain's schedule allows.",
                highest("oncall_index_overdue"),
            ),
            plot(
                "Documents that can't be read",
                "Three runs in a row, and refusals in a day; `oncall jobs history` names them.",
                highest("oncall_documents_failing"),
                in_a_day("oncall_source_refused_total", "domain, source", DOMAIN),
            ),
            plot(
                "Generation that answers",
                "The newest and the oldest of all processes: they differ for seconds.",
                Series(f"max by (domain) (oncall_index_generation{DOMAIN})", "{{domain}} newest"),
                Series(f"min by (domain) (oncall_index_generation{DOMAIN})", "{{domain}} oldest"),
            ),
            plot("Documents", "That are answered from.", highest("oncall_index_documents")),
            plot(
                "Open domains",
                "Of each process; those unused for a while are let go.",
                Series("oncall_index_loaded_domains", "{{instance}}"),
            ),
        ),
    ),
    Row(
        "Jobs",
        (
            plot(
                "Ingest runs in a day",
                "By how they ended; held back: by the canary.",
                in_a_day("oncall_ingest_runs_total", "outcome", DOMAIN),
            ),
            plot(
                "An ingest run takes",
                "Mean of the last day's runs.",
                Series(
                    f"sum by (domain) (rate(oncall_ingest_run_seconds_sum{DOMAIN}[1d])) / "
                    f"sum by (domain) (rate(oncall_ingest_run_seconds_count{DOMAIN}[1d]))",
                    "{{domain}}",
                ),
                unit="s",
            ),
            plot(
                "Work of dead workers an hour",
                "Given back to its queue, and done by another.",
                each_hour("oncall_work_recovered_total", "job"),
            ),
            plot(
                "Documents prepared an hour",
                "For publication, by all processes; failed: `oncall jobs history` says why.",
                each_hour("oncall_ingest_documents_total", "outcome", DOMAIN),
            ),
            plot(
                "Documents that wait",
                "To be prepared, in the process whose run they are of.",
                Series("oncall_ingest_queue_depth", "{{instance}}"),
            ),
            plot(
                "Enrichment's requests an hour",
                "To the model; by outcome: ok, or the kind of failure.",
                each_hour("oncall_ingest_model_calls_total", "outcome"),
            ),
        ),
    ),
    Row(
        "The model, and what it costs",
        (
            plot(
                "A model call takes",
                "95th percentile, retries included.",
                *quantiles("oncall_model_seconds", by="model", only='{outcome="ok"}'),
                unit="s",
            ),
            plot(
                "Model calls an hour",
                "By outcome: ok, left (nobody reads it any more), or the kind of failure.",
                each_hour("oncall_model_seconds_count", "outcome"),
            ),
            plot(
                "Answer cache",
                "Look-ups an hour.",
                each_hour("oncall_answer_cache_total", "outcome", DOMAIN),
            ),
            plot(
                "Tokens an hour",
                "Of answers.",
                each_hour("oncall_tokens_total", "domain, kind", DOMAIN),
                width=6,
            ),
            plot(
                "Dollars in a day",
                "Of answers; empty without ONCALL_PRICES.",
                in_a_day("oncall_cost_dollars_total", "domain", DOMAIN),
                unit="currencyUSD",
                width=6,
            ),
            plot(
                "Daily budget used",
                "In 24 hours; from 100 % on questions are quoted.",
                highest("oncall_budget_used_ratio"),
                unit="percentunit",
                width=6,
            ),
            plot(
                "Questions quoted in a day",
                "For want of a budget: the domain's, or the asker's.",
                in_a_day("oncall_questions_quoted_total", "domain, budget", DOMAIN),
                width=6,
            ),
        ),
    ),
    Row(
        "Database and Slack",
        (
            plot(
                "Storing an event",
                "Slack gets its ack when it is stored, and waits three seconds for it.",
                *quantiles("oncall_event_stored_seconds"),
                unit="s",
            ),
            plot(
                "Waits for Slack an hour",
                "By the error that Slack was waited for.",
                each_hour("oncall_slack_waits_total", "reason"),
            ),
            plot(
                "New sockets an hour",
                "Slack asks for a new one every hour or so; many more are a bad network.",
                each_hour("oncall_socket_reconnects_total", "instance"),
            ),
        ),
    ),
    Row(
        "Processes",
        (
            plot(
                "Memory",
                "Resident; what is mapped from the index counts while there is room for it.",
                Series(f"process_resident_memory_bytes{OURS}", "{{instance}}"),
                unit="bytes",
            ),
            plot(
                "CPU",
                "Cores in use.",
                Series(f"rate(process_cpu_seconds_total{OURS}{RECENT})", "{{instance}}"),
            ),
            plot(
                "Free disk",
                "Of the disk that the data folder is on.",
                Series("oncall_disk_free_bytes / oncall_disk_size_bytes", "{{instance}}"),
                unit="percentunit",
            ),
            plot(
                "Open files",
                "Share of those that the system allows.",
                Series(f"process_open_fds{OURS} / process_max_fds{OURS}", "{{instance}}"),
                unit="percentunit",
            ),
            plot(
                "Silent processes",
                "Seconds without a sign of life, as the other processes see it: frozen, or lost.",
                Series(
                    "max by (process, host) (oncall_process_silent_seconds)", "{{process}} {{host}}"
                ),
                unit="s",
            ),
            plot(
                "Up for",
                "Since the process started.",
                Series(f"time() - process_start_time_seconds{OURS}", "{{instance}}"),
                unit="s",
            ),
            table(
                "What runs",
                "Two versions of ours at once are a rolling upgrade.",
                "count by (job, version, python) (oncall_build_info)",
            ),
        ),
    ),
)
