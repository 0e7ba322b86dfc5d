"""What is in `deploy/` names metrics, routes and options that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dibs.cli.commands.up import COMMANDS
from dibs.cli.parsing import parse
from dibs.rules.exposition import HISTOGRAM
from dibs.server.metering import CATALOGUE

DEPLOY = Path(__file__).parents[2] / "deploy"
KNOWN = set(CATALOGUE) | {
    f"{name}_{part}"
    for name, entry in CATALOGUE.items()
    if entry.kind == HISTOGRAM
    for part in ("bucket", "sum", "count")
}
BUILT_IN = {"instance", "job", "le", "route", "status"}


def expressions() -> list[tuple[str, str]]:
    """Every query of the dashboard, the alerts and the autoscaler, with where it is."""
    dashboard = json.loads((DEPLOY / "grafana/dibs.json").read_text())
    found = [
        (f"panel {panel['title']}", target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
    ]
    alerts = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())
    found += [(f"alert {rule['alert']}", rule["expr"]) for group in alerts["groups"] for rule in group["rules"]]
    workers = yaml.safe_load_all((DEPLOY / "kubernetes/workers.yaml").read_text())
    scaled = next(one for one in workers if one["kind"] == "ScaledObject")
    return [*found, ("autoscaler", scaled["spec"]["triggers"][0]["metadata"]["query"])]


@pytest.mark.parametrize(("where", "expression"), expressions(), ids=lambda value: str(value)[:40])
def test_every_metric_that_is_asked_for_exists(where: str, expression: str) -> None:
    named = set(re.findall(r"\bdibs_[a-z_]+", expression))
    assert named or expression == 'up{job="dibs"} == 0', where
    assert named <= KNOWN, where


@pytest.mark.parametrize(("where", "expression"), expressions(), ids=lambda value: str(value)[:40])
def test_every_label_that_is_asked_for_exists(where: str, expression: str) -> None:
    named = set(re.findall(r"\bdibs_[a-z_]+", expression))
    labels = {label for name in named for label in CATALOGUE[_plain(name)].labels} | BUILT_IN
    selected = set(re.findall(r"([a-z_]+)(?:=~|!~|!=|=)\"", expression))
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
    assert selected | grouped <= labels, where


def test_the_dashboard_shows_every_metric_but_none_twice() -> None:
    dashboard = json.loads((DEPLOY / "grafana/dibs.json").read_text())
    shown = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ()))
    named = {_plain(name) for name in re.findall(r"\bdibs_[a-z_]+", shown)}
    assert named == set(CATALOGUE)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))


def test_counters_are_never_shown_raw() -> None:
    for where, expression in expressions():
        for name in re.findall(r"\bdibs_[a-z_]+_total", expression):
            since_midnight = "midnight" in CATALOGUE[name].help
            assert since_midnight or re.search(rf"(rate|increase)\({name}", expression), f"{where}: {name}"


def _plain(name: str) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        if name not in CATALOGUE and name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def servers() -> list[tuple[str, list[str]]]:
    """How each of the files starts a server."""
    compose = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text())
    deployment = next(yaml.safe_load_all((DEPLOY / "kubernetes/dibs.yaml").read_text()))
    unit = (DEPLOY / "systemd/dibs.service").read_text()
    docker = (DEPLOY / "Dockerfile").read_text()
    command = re.search(r"^CMD (\[.*\])$", docker, re.MULTILINE)
    started = re.search(r"^ExecStart=\S+/dibs (.*)$", unit, re.MULTILINE)
    assert command is not None
    assert started is not None
    return [
        ("compose", compose["services"]["server"]["command"]),
        ("kubernetes", deployment["spec"]["template"]["spec"]["containers"][0]["args"]),
        ("systemd", started[1].split()),
        ("docker", json.loads(command[1])),
    ]


@pytest.mark.parametrize(("where", "argv"), servers(), ids=lambda value: str(value)[:12])
def test_every_server_is_started_with_options_that_exist(where: str, argv: list[str]) -> None:
    assert argv[0] == "up"
    args = parse("up", COMMANDS["up"], argv[1:])
    assert args is not None
    assert args.log_format == "json"


def test_probes_ask_for_what_is_answered() -> None:
    deployment: Any = next(yaml.safe_load_all((DEPLOY / "kubernetes/dibs.yaml").read_text()))
    [server] = deployment["spec"]["template"]["spec"]["containers"]
    assert server["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert server["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > 60


def test_the_image_has_the_extras_that_there_are() -> None:
    import tomllib

    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    installed = re.search(r"'\.\[([a-z,]+)\]'", (DEPLOY / "Dockerfile").read_text())
    assert installed is not None
    assert set(installed[1].split(",")) <= set(project["optional-dependencies"])
