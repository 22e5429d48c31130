"""Examples for other languages run, and what is deployed names metrics that there are."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from service import ask

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.mark.parametrize(
    ("program", "file"), [("sh", "decide.sh"), ("node", "decide.mjs"), (sys.executable, "decide.py")]
)
def test_an_example_decides_and_reports_its_loss(web, program, file):
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"there is no {program}")
    game = {"sh": "shell", "node": "node"}.get(program, "python")
    done = subprocess.run([found, DEPLOY / "examples" / file, web.url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.match(r"use (blue|green)", done.stdout)
    totals = web("GET", f"/v1/games/example-{game}/summary").json
    assert (totals["rounds"], totals["told"], totals["losses"]) == (1, 1, 0.12)


@pytest.mark.parametrize("file", ["grafana-dashboard.json", "prometheus-rules.yaml"])
def test_dashboards_and_rules_name_metrics_that_there_are(web, game, file):
    (decision,) = ask(web, game)
    web("PUT", f"{game}/decisions/{decision['id']}/loss", {"loss": 0.5})
    there = set(re.findall(r"^(holdfast_\w+)", web("GET", "/metrics").body.decode(), flags=re.M))
    text = (DEPLOY / file).read_text()
    named = set(re.findall(r"\bholdfast_[a-z_]+", text))
    assert len(named) >= 3
    assert named <= there
    if file.endswith(".json"):
        panels = json.loads(text)["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels)
