"""One's own policies and environments in a study, by "module:Class"."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from study_files import PLAIN

import holdfast as hf
from holdfast.lab.study import read_study, run_study

MODULE = """
from dataclasses import dataclass, field
from typing import ClassVar

import holdfast as hf


@dataclass(frozen=True)
class Mine(hf.Exp3):
    id: ClassVar[str] = "mine"
    note: str = "none"


@dataclass(frozen=True)
class Late(hf.BlockExp3):
    id: ClassVar[str] = "late"


@dataclass(frozen=True)
class Coins(hf.Bernoulli):
    id: ClassVar[str] = "coins"


@dataclass(frozen=True)
class Turn(hf.Reversal):
    id: ClassVar[str] = "turn"


class Unfinished(hf.Policy):
    pass
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    """A module beside the study file, of a name that no other test has."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    return name


def own_study(module: str, policies: str, environment: str = "") -> str:
    text = PLAIN.replace('policies = ["tsallis-switch", "exp3"]', f"policies = {policies}".replace("MODULE", module))
    if environment:
        text = text.partition("[environment]")[0] + f"[environment]\n{environment}".replace("MODULE", module)
    return text


def test_a_policy_and_an_environment_of_ones_own(write, tmp_path, module):
    entries = '["MODULE:Mine", { policy = "MODULE:Late", name = "second" }, "exp3"]'
    file = write(own_study(module, entries, 'kind = "MODULE:Coins"\nmean_losses = [0.25, 0.5]\nshuffled = true'))
    run = run_study(file, tmp_path / "out")
    found = hf.Result.read(run.files["study"])
    direct = hf.simulate(
        {"mine": hf.Exp3(2), "second": hf.BlockExp3(2, switching_cost=1.5, horizon=300), "exp3": hf.Exp3(2)},
        hf.Bernoulli([0.25, 0.5], shuffled=True),
        horizon=300,
        switching_cost=1.5,
        replications=5,
        seed=3,
        checkpoints=[10, 100],
    )
    assert found.frame.equals(direct.frame)
    assert run_study(file, tmp_path / "out", resume=True).found == 5


def test_parameters_are_given_and_vary_as_for_any_other(write, module):
    text = own_study(module, '[{ policy = "MODULE:Mine", name = "mine" }]', 'kind = "MODULE:Turn"\nn_arms = 3\n')
    study = read_study(write(text + '[grid]\npolicies.mine.note = ["a", "b"]\nenvironment.n_arms = [2, 3]\n'))
    assert [cell.policies["mine"].settings()["note"] for cell in study.cells] == ["a", "a", "b", "b"]
    assert [cell.environment.n_arms for cell in study.cells] == [2, 3, 2, 3]
    assert study.cells[0].environment.settings()["horizon"] == 300


def test_other_code_is_another_study(write, tmp_path, module):
    file = write(own_study(module, '["MODULE:Mine"]'))
    run_study(file, tmp_path / "out")
    with (tmp_path / f"{module}.py").open("a") as opened:
        opened.write("# edited\n")
    with pytest.raises(hf.HoldfastError, match=rf"holds another study: code\.{module} is \"\w+…? ?.*there and "):
        run_study(file, tmp_path / "out", resume=True)


@pytest.mark.parametrize(
    ("policies", "environment", "message"),
    [
        ('["MODULE:Nobody"]', "", r"policies\[0\]\.policy must be \"module:Class\", of .* no attribute 'Nobody'"),
        ('["MODULE:Coins"]', "", r"policies\[0\]\.policy must name a class derived from holdfast\.Policy; got"),
        ('["MODULE:hf"]', "", r"policies\[0\]\.policy must name a class derived from holdfast\.Policy; got"),
        ('["MODULE:Unfinished"]', "", r"policies\[0\]\..*:Unfinished cannot be made \(.*abstract"),
        ('[{ policy = "MODULE:Mine", nota = 1 }]', "", r"policies\[0\]\.nota is not a parameter of .*'note'\?"),
        ('[{ policy = "MODULE:Mine", n_arms = 2 }]', "", r"policies\[0\]\.n_arms must be 3, as many as the env"),
        ('["exp3"]', 'kind = "MODULE:Mine"', r"environment\.kind must name a class derived from holdfast\.Environ"),
        ('["exp3"]', 'kind = "MODULE:Coins"\ngap = 1', r"environment\.n_arms must be given with gap"),
        ('["exp3"]', 'kind = "MODULE:Coins"', r"environment\.mean_losses must be a list of probabilities"),
    ],
)
def test_mistakes(write, module, policies, environment, message):
    with pytest.raises(hf.HoldfastError, match=message) as caught:
        read_study(write(own_study(module, policies, environment)))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_command_finds_what_lies_beside_the_file(write, tmp_path, module):
    file = write(own_study(module, '["MODULE:Mine"]'))
    code = "from holdfast.cli import main; main()"
    command = [sys.executable, "-c", code, "study", "run", str(file), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert "mine" in done.stdout
    assert list(json.loads((tmp_path / "out/record.json").read_text())["cells"]["study"]["code"]) == [module]
