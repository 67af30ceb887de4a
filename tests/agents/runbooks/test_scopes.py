"""The language of scopes: what a cell says, and what an alert's labels say of it."""

from __future__ import annotations

import pytest

from agents.runbooks.amounts import amounts_in
from agents.runbooks.labels import AlertFacts, bracketed, labels_in
from agents.runbooks.scopes import limit_in, read_scope
from agents.runbooks.verdicts import Verdict, verdict
from agents.runbooks.words import WORDS, words_of


def facts_of(*labels: str, says: str = "") -> AlertFacts:
    return AlertFacts(
        labels=[(key, value) for key, _, value in (one.rpartition("=") for one in labels)],
        words=says.split(), amounts=amounts_in(says), glossary={"usw": ["us-east-1"]},
    )  # fmt: skip


def said(cell: str, header: str, *labels: str, says: str = "", others: str = "") -> Verdict:
    """`others`: what the alert's other row lists."""
    scopes = [read_scope(one, header) for one in (cell, others)]
    return verdict(scopes[0], facts_of(*labels, says=says), [one for one in scopes if one])


@pytest.mark.parametrize(
    ("cell", "header", "label", "expected"),
    [
        ("prod, staging", "Env", "environment=production", "yes"),
        ("prod/staging", "Stage", "env=dev", "no"),
        ("prod", "Environment", "live", "yes"),
        ("prod", "Environment", "canary", "no"),
        ("prod", "Environment", "environment=non-prod", "no"),
        ("non-prod", "Environment", "env=staging", "yes"),
        ("EU and US", "Region", "region=eu-west-1", "yes"),
        ("EU", "Region", "region=fr", "yes"),
        ("EU", "Region", "region=us-east-1", "no"),
        ("eu-west-1", "Region", "region=eu", "unknown"),
        ("us-east-1", "Region", "region=usw", "yes"),
        ("EU except DE", "Region", "region=de", "no"),
        ("EU except DE", "Region", "region=fr", "yes"),
        ("not DE", "Region", "region=de", "no"),
        ("all except KRN", "Station", "station=UME", "yes"),
        ("all except KRN", "Station", "team=ops", "unknown"),
        ("checkout-api", "Service", "service=checkout-api", "yes"),
        ("checkout-api", "Service", "app=search", "no"),
        ("mail01, mail02", "Host", "host=mail02 (IP: 10.20.1.14)", "yes"),
        ("mail01, mail02", "Host", "host=mail05 [10.20.1.14]", "no"),
        ("mail01 – mail07", "Host", "mail05 [10.20.1.14]", "yes"),
        ("10.20.1.14", "Host", "host=mail05 [10.20.1.14]", "yes"),
        ("checkout-api", "Service", "Service=Payments rota", "unknown"),
        ("checkout-api", "Application", "checkout-api", "yes"),
        ("checkout-api", "Service", "team=checkout-api", "unknown"),
        ("cart", "Namespace", "namespace=shop-cart", "yes"),
        ("e-commerce", "Channel", "channel=ECOM", "unknown"),
        ("Contractors", "Scope", "worker_type=contractor", "yes"),
        ("HV", "Voltage level", "voltage_level=hv", "yes"),
        ("cart", "Service", "pod=cart-7f9", "yes"),
        ("fe01–fe08", "Node", "instance=fe04:9100", "yes"),
        ("node1 to node9", "Host", "host=node10", "no"),
        ("MSG-13xx", "Code", "MSG-1304", "yes"),
        ("orders.*", "Topic", "topic=orders.new", "yes"),
        ("orders.*", "Topic", "queue=returns", "no"),
        ("orders.*", "Pipeline", "topic=telemetry.raw", "no"),
        ("orders.*", "Pipeline", "instance=web.shop.example", "unknown"),
        ("fe01–fe08", "Where", "fe14", "no"),
        ("STM* except STM900", "Job", "job=STM900", "no"),
        ("env: prod, staging; region: eu", "", "env=prod", "unknown"),
        ("env=prod region=eu", "Scope", "region=us", "no"),
        ("all", "Region", "region=jp", "yes"),
        ("", "Region", "region=jp", "yes"),
        ("*", "Region", "region=jp", "yes"),
        ("rw-db (writer)", "Resource", "resource=rw-db", "yes"),
        ("production (EU only)", "Environment", "region=us", "no"),
        ("only on reaching the quota limit", "Env", "env=prod", "unknown"),
        ("restarts > 3 in 10 min", "Where", "where=prod", "unknown"),
        ("alle außer DE", "Region", "region=de", "no"),
        ("db-01 … db-06", "Hosts", "instance=db-07.shop.example:9100", "no"),
        ("db-01 bis db-06", "Rechner", "db-03:9100", "yes"),
        ("gw-1, gw-2", "Hosts", "k8s-worker-17:9100", "no"),
        ("gw-1, gw-2", "Hosts", "instance=10.1.2.3:9100", "unknown"),
        ("core accounts", "Account", "account=418000731122", "unknown"),
        ("core-network", "Account", "account=418000731122", "unknown"),
        ("core accounts", "Account", "account=core-logging", "yes"),
        ("[Terminal servers]", "Host group", "Host group=Terminal servers", "yes"),
        ("(prod)", "Env", "env=staging", "no"),
        ("all except sandbox", "Account", "account=418000731122", "unknown"),
        ('"checkout"', "Service", "service=checkout", "yes"),
        ("env: prod, region: EU", "", "prod", "unknown"),
        ("env: prod, region: EU", "", "region=us", "no"),
        ("all prod", "Env", "staging", "no"),
        ("Produktion", "Umgebung", "env=prod", "yes"),
        ("Abnahme", "Umgebung", "Umgebung=Entwicklung", "no"),
        ("recette", "Plateforme", "plateforme=production", "no"),
        ("producción", "Entorno", "environment=shop", "unknown"),
        ("aws", "Provider", "gcp", "no"),
        ("alle", "Standort", "region=jp", "yes"),
        ("wszystkie", "Region", "region=jp", "yes"),
        ("toutes sauf intégration", "Plateforme", "integration", "no"),
        ("nicht Produktion", "Umgebung", "prod", "no"),
        ("7", "#", "severity=7", "unknown"),
        ("for 5 min", "Window", "window=5m", "unknown"),
        ("tous sauf FR", "Région", "region=fr", "no"),
    ],
)
def test_a_label_against_a_cell(cell: str, header: str, label: str, expected: str) -> None:
    assert said(cell, header, label) == expected


@pytest.mark.parametrize(
    ("cell", "label", "expected"),
    [
        ("core", "reports", "no"),
        ("core", "batch", "unknown"),
        ("all others", "cluster=reports", "no"),
        ("all others", "cluster=batch", "yes"),
        ("any other, except batch", "cluster=batch", "no"),
        ("the rest", "batch", "unknown"),
        ("sonst", "cluster=batch", "yes"),
        ("autres", "cluster=reports", "no"),
        ("todos los demás", "cluster=batch", "yes"),
        ("all others", "cluster=418000731122", "unknown"),
    ],
)
def test_what_other_rows_list_is_theirs(cell: str, label: str, expected: str) -> None:
    assert said(cell, "Cluster", label, others="reports, dwh") == expected


@pytest.mark.parametrize(
    ("cell", "says", "is_in"),
    [
        ("> 90%", "Usage: 94 %", True),
        ("above 95 %", "Usage: 94 %", False),
        ("> 90%", "nothing measured", False),
        ("> 90%", "took 94 s", False),
        ("60 s to 10 min", "742 s behind", False),
        ("60 s to 15 min", "742 s behind", True),
        ("1 or more", "count=3", True),
        ("< 500 ms", "p95 is 0.2 s", True),
        ("> 95 % for 10 min", "Usage: 97 %", True),
        ("> 80 % of max", "Value: A=94.2, C=1", True),
        ("< 10 % left", "4 % left", True),
        ("10 % libre", "4 % libre", True),
        ("above 5,000", "7,412 messages, sustained 5 min", True),
        ("> 10 000 messages", "14 212 messages", True),
        ("10k – 100k", "14 212 messages", True),
        ("100k and up", "148220 messages", True),
        ("> 10 s", "temps moyen 12,4 s", True),
        ("lag \\> 300 s (critical)", "412s behind for 5m", True),
        ("p95 above 2,000 ms", "p95 is 2.4 s", True),
        ("over 1 min", "p95 is 2.4 s (5 min average)", False),
        ("30 s – 5 min", "lag is 42 s", True),
        ("below 15 %", "4.1 % is lower than the threshold (5.0 %)", True),
        ("über 3 Tage", "seit 5 Tagen", False),
        ("< 20 GiB", "1 datapoint [17253611008.0 (14/10/26 03:10:00)] was less than 9.0", True),
        ("critical, 1 h and more", "oldest message: 5210 s", True),
    ],
)
def test_amounts_against_a_range(cell: str, says: str, is_in: bool) -> None:
    assert (said(cell, "Used", says=says) == "yes") == is_in


@pytest.mark.parametrize(
    ("says", "expected"),
    [("2.3 %", ["yes", "no"]), ("0.4 %", ["no", "yes"]), ("0.01 %", ["unknown", "unknown"])],
)
def test_of_two_ranges_the_narrower_one_holds(says: str, expected: list[Verdict]) -> None:
    cells = "> 1 %", "> 0.1 %"
    answers = [said(one, "Load", says=says, others=cells[1 - at]) for at, one in enumerate(cells)]
    assert answers == expected


@pytest.mark.parametrize(
    ("cell", "others", "labels", "expected"),
    [
        ("prod EU", "prod US", "cluster=fw-prod-euw1-01", "yes"),
        ("prod US", "prod EU", "cluster=fw-prod-euw1-01", "no"),
        ("prod EU", "", "cluster=fw-stg-euw1-01", "no"),
        ("node pools gpu-*", "", "node=ip-10-2 pool=gpu-a100", "yes"),
        ("racks A1–A12", "racks B1–B8", "host=hv-a07-03.ams1", "yes"),
        ("racks B1–B8", "racks A1–A12", "host=hv-a07-03.ams1", "no"),
        ("any queue ending in -dlq", "", "queue=mails-dlq", "yes"),
        ("all other pools", "node pools gpu-*", "node=web-7", "yes"),
        ("Ireland", "Frankfurt", "region=eu-west-1", "yes"),
        ("N. Virginia", "Frankfurt", "region=us-east-1", "yes"),
        ("transit (Arelion, Cogent)", "customers", "peer=Arelion", "yes"),
        ("checkout", "checkout-api", "service=checkout-api", "no"),
        ("prod", "staging", "cluster=eks-non-prod-1", "no"),
    ],
)
def test_telling_words_of_a_cell_are_compared_with_parts_of_values(
    cell: str, others: str, labels: str, expected: str
) -> None:
    assert said(cell, "Where", *labels.split(), others=others) == expected


SEARCH = "This page is for alerts of the **search** service only (namespace `search`)."


@pytest.mark.parametrize(
    ("sentence", "labels", "expected"),
    [
        (SEARCH, "service=search", "yes"),
        (SEARCH, "service=catalog", "no"),
        (SEARCH, "checkout-api critical", "no"),
        (SEARCH, "search-api", "yes"),
        (SEARCH, "db-1 critical", "unknown"),
        (SEARCH, "instance=db-1:9100", "unknown"),
        (SEARCH, "Service=Platform", "unknown"),
        ("Applies to `checkout-api` only.", "namespace=search", "no"),
        ("Only jobs in `economy` are watched.", "analytics", "no"),
        ("Diese Seite gilt nur für **prod**.", "env=staging", "no"),
        ("Cette fiche concerne uniquement le service `panier`.", "service=stock", "no"),
        ("Esta página es solo para el servicio `pagos`.", "service=pagos", "yes"),
    ],
)
def test_a_sentence_with_only_and_marked_values_limits_a_page(
    sentence: str, labels: str, expected: str
) -> None:
    pairs = [(key, value) for key, _, value in (one.rpartition("=") for one in labels.split())]
    limit = limit_in(sentence)
    assert limit
    assert verdict(limit, AlertFacts(labels=pairs)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It fires only on reaching the quota limit.",
        "This page is for the search service only.",
        "This alert fires only if `kube_state_metrics` is up.",
        "Use this section only when `leader` is lost.",
        "Only one instance of `exporter` runs.",
        "The job `nightly` only runs at night.",
        "See `search` and **catalog**.",
    ],
)
def test_other_sentences_limit_nothing(text: str) -> None:
    assert limit_in(text) is None


def test_labels_are_read_from_fields_in_lines_and_from_brackets() -> None:
    assert labels_in("/data 94 % belegt (Umgebung: Produktion, NUE)") == [
        ("Umgebung", "Produktion")
    ]
    assert labels_in("plateforme : production, Hinweis: alt") == [("plateforme", "production")]
    assert bracketed("DiskFull (cart-api-28911 prod) [over 90 for 5m]") == [
        ("", "cart-api-28911"), ("", "prod")
    ]  # fmt: skip


def test_the_words_are_words() -> None:
    """In YAML, `no` and `on` without quotes are none."""
    for name in WORDS:
        if name not in {"keys", "values", "parts", "units", "roles"}:
            assert all(isinstance(one, str) and one == one.strip() for one in words_of(name)), name
