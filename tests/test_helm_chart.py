"""The chart, rendered by Helm itself, as Kubernetes and our processes would take it."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from api.auth.routes import DOORS
from bot.app import DRAIN_SECONDS
from cli.commands.jobs import jobs_run
from cli.commands.run import bot, serve
from cli.main import app
from cli.setup.checks import all_problems
from config.settings import Settings
from docs.generate import helm_values
from telemetry.health import CombinedHealth, health_app
from tests.settings_known import SECRETS, VARIABLES

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "helm" / "oncall-copilot"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
TEMPLATES = {
    path.name: path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir()
}
OLDEST, NEWEST = "1.27", "1.37"
"""Releases of Kubernetes whose schemas the manifests keep to."""
TEA = """domain: tea
title: Tea
channels: [C0TEA]
sources: {files: [.]}
escalation: {rota: ../rotas/tea.yaml}
evaluation: {golden: [../golden/tea.yaml]}
"""
GOLDEN = """- id: tea-001
  kind: lookup
  question: how long does green tea steep
  reference: Two minutes.
  must_include: [two minutes]
  evidence: [{document: tea, heading: Green tea, quote: It steeps for two minutes.}]
"""
ROTA = "- {user: U0INES, from: 2026-01-01, to: 2026-12-31}\n"
FULL: dict[str, Any] = {
    "image": {"digest": "sha256:" + "0" * 64, "pullSecrets": ["registry"]},
    "secretKeys": ["OPENAI_API_KEY"],
    "googleKey": "google.json",
    "tokensKey": "api_tokens.yaml",
    "settings": {"CHROMA_URL": "http://chroma:8000", "ONCALL_ENRICH_TOKENS": "50000000"},
    "domains": {"tea.yaml": TEA},
    "golden": {"tea.yaml": GOLDEN},
    "rotas": {"tea.yaml": ROTA},
    "caBundle": "-----BEGIN CERTIFICATE-----\n",
    "envFrom": [{"secretRef": {"name": "bucket"}}],
    "serviceAccount": "copilot",
    "podAnnotations": {"example.com/team": "security"},
    "podLabels": {"azure.workload.identity/use": "true"},
    "extraVolumes": [{"name": "papers", "persistentVolumeClaim": {"claimName": "papers"}}],
    "extraVolumeMounts": [{"name": "papers", "mountPath": "/papers", "readOnly": True}],
    "bot": {
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "x", "operator": "Exists"}],
        "priorityClassName": "answers",
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    },
    "autoscaling": {"enabled": True},
    "networkPolicy": {"apiFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "p"}, "tokenSecret": "scrape"},
}
LEAST = {"domains": {"tea.yaml": TEA}}
VALUES: dict[str, dict[str, Any]] = {"least": LEAST, "full": FULL}
KNOWN = {
    ("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ConfigMap"),
    ("policy/v1", "PodDisruptionBudget"), ("networking.k8s.io/v1", "NetworkPolicy"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"), ("monitoring.coreos.com/v1", "ServiceMonitor"),
}  # fmt: skip
CERTIFICATES = {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HTTPLIB2_CA_CERTS", "AWS_CA_BUNDLE"}
CLOUD_SECRETS = {"AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_CONNECTION_STRING", "PGPASSWORD"}
LISTENS = {
    "bot": inspect.signature(bot).parameters["health_port"].default,
    "jobs": inspect.signature(jobs_run).parameters["health_port"].default,
    "api": inspect.signature(serve).parameters["port"].default,
}


@cache
def chart() -> Any:
    from helm_python import Chart

    return Chart.load(CHART)


def manifests(values: dict[str, Any]) -> list[dict[str, Any]]:
    texts = chart().render({**LEAST, **values}, name="oncall", namespace="tools")
    read = (yaml.safe_load_all(text) for name, text in texts.items() if name.endswith(".yaml"))
    return [one for several in read for one in several if one]


@pytest.fixture(params=VALUES)
def made(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return manifests(VALUES[request.param])


def of_kind(made: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in made if one["kind"] == kind]


def pods(made: list[dict[str, Any]]) -> dict[str, Any]:
    """Component → its pod template."""
    return {
        one["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"][
            "template"
        ]
        for one in of_kind(made, "Deployment")
    }


def selected(labels: dict[str, str], made: list[dict[str, Any]]) -> set[str]:
    """Components whose pods have these labels."""
    return {
        name
        for name, pod in pods(made).items()
        if labels.items() <= pod["metadata"]["labels"].items()
    }


def containers(made: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Component, container, pod's spec."""
    for name, pod in pods(made).items():
        for one in pod["spec"]["containers"]:
            yield name, one, pod["spec"]


@pytest.mark.parametrize(
    "values",
    [
        {"replicaz": 3},
        {"bot": {"replicas": 10}},
        *({"settings": {name: "x"}} for name in sorted(SECRETS)),
        *({"settings": {name: "x"}} for name in CLOUD_SECRETS),
        {"settings": {"ONCALL_ENRICH_TOKENS": 50000000}},
        {"podLabels": {"app.kubernetes.io/component": "mine"}},
        {"secretKeys": ["DATABASE_URL"]},
        {"image": {"digest": "latest"}},
        {"bot": {"resources": None}},
        {"caBundle": "ca.pem"},
        {"extraVolumes": [{"name": "data", "emptyDir": {}}]},
    ],
)
def test_a_slip_in_the_values_is_refused(values: dict[str, Any]) -> None:
    from helm_python.errors import HelmValuesError

    with pytest.raises(HelmValuesError):
        chart().validate_schema({**LEAST, **values})


def test_without_a_domain_file_it_lints_and_does_not_install() -> None:
    from helm_python import lint
    from helm_python.errors import HelmRenderError

    for values in ({}, *VALUES.values()):
        report = lint(CHART, values, strict=True)
        worse = [one for one in report["messages"] if one["severity"] > 1]
        assert (report["errors"], worse) == ([], [])
    with pytest.raises(HelmRenderError, match="name at least one domain file"):
        chart().render({}, name="oncall", namespace="tools")


def test_quantities_may_be_written_as_kubernetes_takes_them() -> None:
    requests = {"cpu": 0.5, "memory": "1.5G", "nvidia.com/gpu": 1}
    resources = {"requests": requests, "limits": {"memory": "2Gi", "nvidia.com/gpu": 1}}
    chart().validate_schema({**LEAST, "jobs": {"resources": resources, "dataSize": "20G"}})


def test_no_port_to_connect_to_means_none() -> None:
    policies = of_kind(manifests({"networkPolicy": {"egressPorts": []}}), "NetworkPolicy")
    rules = [rule for one in policies for rule in one["spec"].get("egress", ())]
    assert [port["port"] for rule in rules for port in rule["ports"]] == [53, 53]


def test_a_setting_comes_before_what_the_chart_says() -> None:
    own = {"SSL_CERT_FILE": "/papers/ca.pem", "GOOGLE_APPLICATION_CREDENTIALS": "/papers/g.json"}
    for _, one, _ in containers(manifests({**FULL, "settings": own})):
        variables = [(each["name"], each["value"]) for each in one["env"]]
        assert own.items() <= dict(variables).items()
        assert len(dict(variables)) == len(variables)


def test_more_bots_at_least_than_at_most_are_refused() -> None:
    from helm_python.errors import HelmRenderError

    with pytest.raises(HelmRenderError, match="minReplicas is greater"):
        manifests({"autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 3}})


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_takes_it(version: str) -> None:
    from kubernetes_validate import validate

    own = "monitoring.coreos.com/v1"
    for one in (one for one in manifests(FULL) if one["apiVersion"] != own):
        validate(one, version, strict=True)


def leaves(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    else:
        yield path


def test_every_value_is_documented_checked_and_used() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|", helm_values(), re.MULTILINE)
    documented = [tuple(row.split(".")) for row in rows]
    used = set(re.findall(r"[.$]Values\.([\w.]+)", "".join(TEMPLATES.values())))
    used |= {f"{part}.{name}" for part in LISTENS for name in re.findall(
        r"\.values\.(\w+)", TEMPLATES["_helpers.tpl"])}  # fmt: skip
    for leaf in leaves(DEFAULTS):
        assert [one for one in documented if leaf[: len(one)] == one], leaf
    for path in documented:
        assert any(".".join(path[:length]) in used for length in (1, 2)), path
        kind = reduce(lambda under, key: resolved(under)["properties"][key], path, SCHEMA)
        assert resolved(kind), path
    assert {
        name
        for name in used
        if not any(name.split(".")[: len(one)] == list(one) for one in documented)
    } == {"bot", "jobs", "api"}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """What a reference of the schema refers to."""
    for one in (schema, *schema.get("allOf", [])):
        if "$ref" in one:
            return dict(SCHEMA["definitions"][one["$ref"].rpartition("/")[2]])
    return schema


def test_what_only_a_start_reads_restarts_its_processes_and_nothing_else_does() -> None:
    def annotations(**values: Any) -> list[dict[str, str]]:
        made = pods(manifests(FULL | values))
        return [pod["metadata"]["annotations"] for pod in made.values()]

    before = annotations()
    assert annotations(domains={"tea.yaml": TEA + "# edited\n"}) == before
    assert annotations(golden={"tea.yaml": GOLDEN + "# edited\n"}) == before
    for name, values in {
        "checksum/config": {"caBundle": FULL["caBundle"] + "another"},
        "checksum/secret": {"secretRevision": "2"},
    }.items():
        changed = annotations(**values)
        assert [one.pop(name) != old[name] for one, old in zip(changed, before, strict=True)]
        assert [one.items() <= old.items() for one, old in zip(changed, before, strict=True)] == [
            True
        ] * len(before)


def test_every_manifest_is_of_a_known_kind_and_has_a_name_of_its_own(
    made: list[dict[str, Any]],
) -> None:
    assert {(one["apiVersion"], one["kind"]) for one in made} <= KNOWN
    names = [(one["kind"], one["metadata"]["name"]) for one in made]
    assert len(set(names)) == len(names)
    assert [
        name for _, name in names if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name)
    ] == []


def test_full_values_make_every_kind() -> None:
    assert {(one["apiVersion"], one["kind"]) for one in manifests(FULL)} == KNOWN


def test_selectors_find_what_they_are_for(made: list[dict[str, Any]]) -> None:
    for one in of_kind(made, "Deployment"):
        (part,) = selected(one["spec"]["selector"]["matchLabels"], made)
        assert one["metadata"]["name"] == f"oncall-{part}"
    for one in of_kind(made, "Service"):
        (part,) = selected(one["spec"]["selector"], made)
        assert one["metadata"]["name"] == f"oncall-{part}"
    for one in of_kind(made, "PodDisruptionBudget"):
        assert len(selected(one["spec"]["selector"]["matchLabels"], made)) == 1
    for one in of_kind(made, "NetworkPolicy"):
        assert selected(one["spec"]["podSelector"]["matchLabels"], made)
    services = [(one["metadata"]["labels"], one) for one in of_kind(made, "Service")]
    for one in of_kind(made, "ServiceMonitor"):
        wanted = one["spec"]["selector"]["matchLabels"].items()
        (service,) = [found for labels, found in services if wanted <= labels.items()]
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {end["port"] for end in one["spec"]["endpoints"]} <= ports
    for one in of_kind(made, "HorizontalPodAutoscaler"):
        target = one["spec"]["scaleTargetRef"]
        (scaled,) = [
            d for d in of_kind(made, "Deployment") if d["metadata"]["name"] == target["name"]
        ]
        assert "replicas" not in scaled["spec"]


def test_ports_are_those_that_the_commands_listen_on(made: list[dict[str, Any]]) -> None:
    for name, one, _ in containers(made):
        assert one["ports"] == [{"name": "http", "containerPort": LISTENS[name]}]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert one[probe]["httpGet"]["port"] == "http"
    for service in of_kind(made, "Service"):
        assert [port["targetPort"] for port in service["spec"]["ports"]] == ["http"]
    for policy in of_kind(made, "NetworkPolicy"):
        named = [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
        assert set(named) == {"http"}


def test_probes_and_prometheus_ask_for_what_is_served(made: list[dict[str, Any]]) -> None:
    beside_a_worker = {getattr(one, "path", "") for one in health_app(CombinedHealth()).routes}
    behind_the_api = {one.path for one in DOORS}
    for _, one, _ in containers(made):
        # Alive, not ready: an outage of the database would restart every worker otherwise.
        assert one["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert one["readinessProbe"]["httpGet"]["path"] == "/readyz"
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert one[probe]["httpGet"]["path"] in beside_a_worker & behind_the_api
    for monitor in of_kind(made, "ServiceMonitor"):
        for end in monitor["spec"]["endpoints"]:
            assert end["path"] in beside_a_worker & behind_the_api


def test_the_api_is_scraped_with_a_token_or_not_at_all() -> None:
    def monitored(values: dict[str, Any]) -> dict[str, Any]:
        monitors = of_kind(manifests(values), "ServiceMonitor")
        return {one["metadata"]["name"]: one["spec"]["endpoints"][0] for one in monitors}

    full = monitored(FULL)
    assert set(full) == {"oncall-bot", "oncall-jobs", "oncall-api"}
    assert full["oncall-api"]["authorization"]["credentials"] == {"name": "scrape", "key": "token"}
    assert set(monitored({"serviceMonitor": {"enabled": True}})) == {"oncall-bot", "oncall-jobs"}


def test_containers_are_told_settings_that_exist_and_secrets_as_files(
    made: list[dict[str, Any]],
) -> None:
    for _, one, pod in containers(made):
        told = {each["name"]: each["value"] for each in one["env"]}
        assert len(told) == len(one["env"])
        assert set(told) - CERTIFICATES <= VARIABLES
        assert set(told).isdisjoint(SECRETS)
        assert all(isinstance(value, str) for value in told.values())
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounted = {mount["mountPath"]: mount["name"] for mount in one["volumeMounts"]}
        assert set(mounted.values()) == set(volumes)
        files = [value for value in told.values() if value.startswith("/run/secrets/")]
        items = volumes[mounted["/run/secrets/oncall"]]["secret"]["items"]
        assert sorted(files) == sorted(f"/run/secrets/oncall/{item['path']}" for item in items)
        # What the image says itself: where domain files and data are.
        assert {"/config", "/data"} <= set(mounted)


def test_processes_get_no_more_secrets_than_they_need() -> None:
    given = {
        name: {each["name"] for each in one["env"] if each["name"].endswith("_FILE")}
        for name, one, _ in containers(manifests(LEAST))
    }
    shared = {"DATABASE_URL_FILE", "SLACK_BOT_TOKEN_FILE"}
    assert given["jobs"] == shared
    assert given["bot"] == shared | {"SLACK_APP_TOKEN_FILE"}
    assert given["api"] == shared | {"ONCALL_API_TOKEN_FILE"}


def test_commands_are_ours(made: list[dict[str, Any]]) -> None:
    for _, one, _ in containers(made):
        asked = CliRunner().invoke(app, [*one["args"], "--help"])
        assert asked.exit_code == 0, asked.output


def test_no_container_is_root_or_writes_to_its_image(made: list[dict[str, Any]]) -> None:
    for _, one, pod in containers(made):
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not pod["automountServiceAccountToken"]
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in one["volumeMounts"]:
            assert mount.get("readOnly") or "emptyDir" in volumes[mount["name"]]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "useradd --uid 10001" in dockerfile


def test_every_container_asks_for_resources_and_has_a_bound(made: list[dict[str, Any]]) -> None:
    for _, one, _ in containers(made):
        assert {"cpu", "memory", "ephemeral-storage"} <= set(one["resources"]["requests"])
        assert "memory" in one["resources"]["limits"]


def test_a_pod_has_time_to_finish_what_it_began(made: list[dict[str, Any]]) -> None:
    for _, _, pod in containers(made):
        assert pod["terminationGracePeriodSeconds"] > DRAIN_SECONDS + 10


def test_domain_files_and_what_they_name_arrive_where_they_are_read(tmp_path: Path) -> None:
    made = manifests(FULL)
    texts = {one["metadata"]["name"]: one["data"] for one in of_kind(made, "ConfigMap")}
    for _, _, pod in containers(made):
        (config,) = [volume for volume in pod["volumes"] if volume["name"] == "config"]
        sources = config["projected"]["sources"]
        for source in (one["configMap"] for one in sources if "configMap" in one):
            for item in source["items"]:
                path = tmp_path / item["path"]
                path.parent.mkdir(exist_ok=True)
                path.write_text(texts[source["name"]][item["key"]], encoding="utf-8")
    settings = Settings(_env_file=None, config_dir=tmp_path, data_dir=tmp_path / "data")
    domains, problems = all_problems(settings)
    assert (set(domains), problems) == ({"tea"}, [])


def test_parts_can_be_left_out() -> None:
    made = manifests({"api": {"enabled": False}, "networkPolicy": {"enabled": False}})
    assert set(pods(made)) == {"bot", "jobs"}
    assert of_kind(made, "NetworkPolicy") == []


def test_the_chart_is_of_this_release() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == project["version"]
