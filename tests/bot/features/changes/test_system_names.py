"""Names of systems in alerts, and in what people and bots announce."""

from __future__ import annotations

import pytest

from agents.alerts.reader import alerts_in
from bot.features.changes.names import ENOUGH, NameFinder, SystemName, distinguishing, systems_of
from enrichment.names import name_key


def names(alert: str, glossary: dict[str, list[str]] | None = None, known: str = "") -> set[str]:
    documented = set(map(name_key, known.split()))
    alerts = alerts_in(alert, by_bot=True)
    assert alerts
    return {
        one.text for one in systems_of(alerts, glossary or {}, lambda keys: documented & set(keys))
    }


def found(text: str, *named: str) -> set[str]:
    systems = [SystemName(text=one, is_subject=False) for one in named]
    keys = NameFinder(systems)(text)
    return {one.text for one in systems if one.key in keys}


def fired(*labels: str, name: str = "ErrorRate") -> str:
    return "\n".join((f"[FIRING] {name}", *labels))


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("service = payments-api", "payments-api"),
        ("job = payments-api-prod", "payments-api"),
        ("pod = payments-api-7f9c8d6b5-x2x4z", "payments-api"),
        ("pod = kafka-2", "kafka"),
        ("instance = web-3.ams1.shop.example:9100", "web-3"),
        ("deployment = eu-west-1", ""),
        ("exported_namespace = shop", "shop"),
        ("component = Payments API", "Payments API"),
        ("anything = ledger_db", "ledger_db"),
    ],
)
def test_a_label_names_a_system_whatever_its_key(label: str, name: str) -> None:
    assert names(fired(label)) - {"ErrorRate"} == ({name} if name else set())


@pytest.mark.parametrize(
    "label",
    [
        "severity = critical", "env = production", "environment = tidewater-live", "page = true",
        "region = eu-central-1", "zone = tokyo", "team = payments", "value = 0.97", "le = 500",
        "threshold = 5m", "instance = 10.2.3.4:9100", "path = /var/lib", "owner = ledger-crew",
        "tier = gold", "notify = page", "enabled = yes",
    ],
)  # fmt: skip
def test_levels_places_teams_and_numbers_are_no_systems(label: str) -> None:
    assert names(fired(label)) == {"ErrorRate"}


def test_a_word_of_the_alerts_name_counts_where_the_documents_have_it() -> None:
    assert names(fired(name="KafkaLagHigh")) == {"KafkaLagHigh"}
    assert names(fired(name="KafkaLagHigh"), known="kafka lag-notes") == {"KafkaLagHigh", "Kafka"}
    assert names("[FIRING] ConsumerLag on orders", known="orders") == {"ConsumerLag", "orders"}


def test_the_glossary_gives_other_names() -> None:
    glossary = {"PAY": ["payments-api", "Counter"], "IT": ["ledger"], "X": ["y"]}
    said = names(fired("service = counter", "job = ledger"), glossary)
    assert said == {
        "ErrorRate",
        "counter",
        "ledger",
        "PAY",
        "payments-api",
    }  # `it` is a common word


@pytest.mark.parametrize(
    "text",
    [
        "payments-api v1.4.2 is live", "Deployed acme/payments-api@3f2a91c to prod",
        "PaymentsApi: scaled to 6", "*Payments API*: changed", "payments_api-v2.0.1 rolled out",
        "registry.example/payments-api:1.4.2", "https://github.com/acme/payments-api/pull/7 merged",
        "prod-payments-api restarted", "payments-api-eu-west-1 drained", "PAYMENTS-API’s flag on",
        "helm upgrade payments-api-1.4.2.tgz", "edited payments-api.yaml", "\uff30ayments-api",
    ],
)  # fmt: skip
def test_a_system_is_found_however_it_is_spelled(text: str) -> None:
    assert found(text, "payments-api") == {"payments-api"}


@pytest.mark.parametrize(
    "text",
    [
        "payments-api-gateway v1 is live", "new-payments-api is live", "paymentsapi2 is live",
        "payments. API keys were rotated", "payments\napi", "repayments-api", "payments", "",
    ],
)  # fmt: skip
def test_another_system_with_a_longer_name_is_not_meant(text: str) -> None:
    assert found(text, "payments-api") == set()


def test_words_that_together_look_like_a_name_are_none() -> None:
    assert found("please check out the new dashboard", "checkout") == set()
    assert found("Checkout: new dashboard", "checkout") == {"checkout"}


def test_names_of_other_scripts_are_found() -> None:
    assert found("支付服务已部署到生产环境", "支付服务") == {"支付服务"}
    assert found("выкатили Платёж-сервис 1.2", "платёж-сервис") == {"платёж-сервис"}


def test_the_longer_of_two_names_is_meant() -> None:
    assert found("payments-api is live", "payments", "payments-api") == {"payments-api"}


def test_a_name_in_most_messages_distinguishes_none_unless_the_alert_is_about_it() -> None:
    cluster = SystemName(text="tidewater", is_subject=False)
    service = SystemName(text="checkout", is_subject=True)
    everywhere = [{cluster.key, service.key}] * ENOUGH
    assert distinguishing([cluster, service], everywhere) == {service.key}
    # Of a few messages, most say nothing about a channel.
    assert distinguishing([cluster], everywhere[:-1]) == {cluster.key}
    assert distinguishing([cluster], [*everywhere, *([set()] * ENOUGH)]) == {cluster.key}
