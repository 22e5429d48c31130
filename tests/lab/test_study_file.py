"""The study file: what it may say, with your own policies and environments by "module:Class", and its mistakes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study_files import PLAIN, table_study

import holdfast as hf
from holdfast.lab.study import read_study, run_study
from holdfast.simulation import contract


def test_grids_over_anything(write):
    study = read_study(
        write(
            """
            switching_cost = 1.0
            policies = ["tsallis-switch", { policy = "base-geometric", name = "base" }]
            [grid]
            horizon = [1e3, 2_000]
            replications = [2, 3]
            seed = [0, 7]
            environment = [{ kind = "reversal", n_arms = 2 }, { kind = "constrained-bernoulli", n_arms = 3, gap = 0.1 }]
            switching_cost = [0.5, { power = 0.5 }]
            policies.tsallis-switch.switching_cost = [0.25, 0.75]
            "policies.base.gamma" = [0.1, 0.5]
            checkpoints = [3, "log"]
            """
        )
    )
    assert len(study.cells) == 2**8
    assert study.cells[0].name == "cell-001"
    assert len({json.dumps(cell.settings()) for cell in study.cells}) == 2**8
    last = study.cells[-1]
    assert (last.horizon, last.replications, last.seed, last.environment.n_arms) == (2000, 3, 7, 3)
    assert last.policies["base"] == hf.BaSE(3, horizon=2000, gamma=0.5)
    assert last.policies["tsallis-switch"] == hf.TsallisSwitch(3, switching_cost=0.75)
    assert last.switching_cost == hf.Power(0.5)
    assert study.cells[0].environment == hf.Reversal(2, 1000)
    assert study.cells[0].checkpoints == (333, 667, 1000)


def test_values_of_the_grid_are_columns_of_one_type_and_of_a_name_that_is_free(write):
    def columns(grid):
        return [list(cell.columns.items()) for cell in read_study(write(PLAIN + grid)).cells]

    assert columns("[grid]\nreplications = [1, 2]\n") == [[("grid.replications", 1)], [("grid.replications", 2)]]
    assert columns("[grid]\nseed = [1, 9]\n") == [[("seed", 1)], [("seed", 9)]]
    assert columns(f"[grid]\nseed = [1, {2**63}]\n") == [[("seed", 1.0)], [("seed", 2.0**63)]]
    assert columns(f"[grid]\nseed = [1, {2**1100}]\n") == [[("seed", "1")], [("seed", str(2**1100))]]
    assert columns("[grid]\ncheckpoints = [3, 'log']\n") == [[("checkpoints", "3")], [("checkpoints", "log")]]


def test_the_study_in_the_documentation(write):
    document = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)
    study = read_study(write(shown, "regions.toml"))
    assert len(study.cells) == 6
    assert f"regions/{study.cells[0].name}.parquet" in document


@pytest.mark.parametrize(("file", "name"), [("my study!.toml", "my-study"), ("---.toml", "study"), ("a.b.toml", "a.b")])
def test_a_study_has_the_name_of_its_file_unless_given(write, file, name):
    assert (read_study(write(PLAIN, file)).name, read_study(write('name = "x"\n' + PLAIN)).name) == (name, "x")


def test_two_fields_with_the_same_last_word_are_told_apart(write):
    text = PLAIN + '[grid]\n"environment.n_arms" = [2, 3]\n"policies.exp3.n_arms" = [2]\n'
    with pytest.raises(hf.HoldfastError, match=r"n_arms must be 3, as many .*at environment.n_arms = 3, policies"):
        read_study(write(text))
    text = PLAIN + "[grid]\nhorizon = [20, 30]\npolicies.tsallis-switch.switching_cost = [1, 2]\nswitching_cost = [3]\n"
    assert read_study(write(text.replace("checkpoints = [10, 100]", ""))).cells[0].name == (
        "horizon=20,policies.tsallis-switch.switching_cost=1,switching_cost=3"
    )


def test_mistakes_in_loss_tables(write, tmp_path):
    frame = pl.DataFrame({"east": [0.5, 0.25], "west": [1.0, None]})
    frame.write_parquet(tmp_path / "hole.parquet")
    frame.with_columns(pl.lit("x").alias("label")).write_parquet(tmp_path / "text.parquet")
    (frame * 2).fill_null(0).write_parquet(tmp_path / "large.parquet")
    (tmp_path / "not.parquet").write_text("nothing")
    (tmp_path / "bare.csv").write_text("0.5,0.5\n0.25,1\n")
    for path, message in {
        "bare.csv": (
            r"^environment\.path must have a header line of arm names .* is a number \(in bare\.csv\); "
            r"got '0\.5,0\.5' \(study\.toml\)$"
        ),
        "hole.parquet": r"environment\.path must have .* in row 2, column 'west'; it is missing.*got nan \(study",
        "large.parquet": r"environment\.path must have a number from 0 to 1 in row 1, column 'west'; .*got 2\.0",
        "text.parquet": r"environment\.path must have a column of numbers for each arm, .*'label' is one of String",
        "not.parquet": r"environment\.path must be a \.parquet table",
        "none.npy": r"environment\.path must be a file; there is none; got .*none\.npy",
        "table.xls": r"environment\.path must end in \.csv, .* or \.npy",
    }.items():
        with pytest.raises(hf.HoldfastError, match=message):
            read_study(write(table_study(path)))
    np.save(tmp_path / "short.npy", np.zeros((20, 3)))
    with pytest.raises(hf.HoldfastError, match=r"horizon must not exceed the 20 rounds of the table; got 300"):
        read_study(write(table_study("short.npy")))


MISTAKES = {
    "gap = 1.7": r"environment\.gap must be from 0 to 1; got 1\.7 \(study\.toml\)",
    "gap = 0.7": r"environment\.gap must not exceed the mean of the other arms, 0\.5; got 0\.7",
    "gap = '0.2'": r"environment\.gap must be a finite number and not negative; got '0\.2'",
    "gpa = 0.2": (r"environment\.gpa is not a parameter of bernoulli; got 0\.2; did you mean 'gap'\?"),
    "n_arms = 2.5": r"environment\.n_arms must be a whole number of at least 1; got 2\.5",
    "n_arms = true": r"environment\.n_arms must be a whole number of at least 1; got True",
    "mean_losses = [0.2]": r"environment\.n_arms cannot be given with mean_losses; got 3 \(study",
    "shuffled = 1": r"environment\.shuffled must be true or false; got 1",
    "kind = 'bernouli'": (
        r"environment\.kind must be one of 'bernoulli', .*; got 'bernouli'; did you mean 'bernoulli'\?"
    ),
    "horizon = 0": r"^horizon must be a whole number from 1 to \d+; got 0",
    "horizont = 9": r"^horizont is not a field of a study; got 9; did you mean 'horizon'\?",
    "replications = -1": r"^replications must be a whole number from 1 to \d+; got -1",
    "seed = -1": r"^seed must not be negative; got -1",
    "switching_cost = -2.0": r"^switching_cost must be a finite number and not negative; got -2\.0",
    "switching_cost = [0.5, nan]": r"^switching_cost\[1\] must be a finite number and not negative; got nan",
    "switching_cost = { pwoer = 1 }": (
        r"^switching_cost takes 'power' and 'scale' only; got 'pwoer'; did you mean 'power'\?"
    ),
    "switching_cost = { scale = 1 }": r"^switching_cost must have a power: \{ power = 0\.5 \}; got \{'scale': 1\}",
    "switching_cost = { power = 0.5 }": (
        r"policies\[0\]\.switching_cost must be given, because the study's is a sequence"
    ),
    "checkpoints = 'lgo'": r"^checkpoints must be 'linear', 'log', .*; got 'lgo'; did you mean 'log'\?",
    "checkpoints = [999]": r"^checkpoints\[0\] must be a whole number from 1 to 300; got 999",
    "name = 'a/b'": r"^name must be letters, digits, '\.', '_' and '-', as a file name has; got 'a/b'",
    "policies = []": r"^policies must be a list such as",
    "policies = ['exp4']": r"^policies\[0\]\.policy must be one of .*; got 'exp4'; did you mean 'exp3'\?",
    "policies = ['exp3', 'exp3']": r"^policies\[1\]\.name must differ from those of the policies before it; got 'exp3'",
    "policies = [{policy=['exp3']}]": r"^policies\[0\]\.policy must be one of 'adaptive', .*; got \['exp3'\]",
    "policies = [{policy={}}]": r"^policies\[0\]\.policy must be one of 'adaptive', .*; got \{\}",
    "policies = [['exp3']]": r"^policies\[0\] must be a policy's id, or a table with it under policy; got \['exp3'\]",
    "kind = ['bernoulli']": r"^environment\.kind must be one of 'bernoulli', .*; got \['bernoulli'\]",
    "kind = 'no_such_module:Arm'": (
        r"^environment\.kind must be \"module:Class\", of a module that Python finds \(No module named"
    ),
    "kind = 'math:pi'": r"^environment\.kind must name a class derived from holdfast\.Environment; got 'math:pi'",
    "policies = ['no_such_module:Arm']": r"^policies\[0\]\.policy must be \"module:Class\", of a module that Python",
    "policies = ['math:floor.x']": r"^policies\[0\]\.policy must be \"module:Class\", of a module that Python",
    "policies = [':']": r"^policies\[0\]\.policy must be \"module:Class\", of a module that Python",
    "policies = ['exp3', 7]": r"^policies\[1\] must be a policy's id, or a table with it under policy; got 7",
    "policies = [{name = 'x'}]": r"^policies\[0\]\.policy must be given: one of 'adaptive'",
    "policies = [{policy = 'exp3', gama = 1}]": r"^policies\[0\]\.gama is not a parameter of exp3",
    "policies = [{policy = 'exp3', id = 1}]": r"^policies\[0\]\.id is not a parameter of exp3; got 1",
    "policies = [{policy = 'exp3', n_arms = 4}]": (
        r"^policies\[0\]\.n_arms must be 3, as many as the environment has; got 4"
    ),
    "policies = [{policy = 'base-geometric', gamma = -1}]": (
        r"^policies\[0\]\.gamma must be a finite number above 0; got -1"
    ),
    "environment = 3": r"^environment must be a table; got 3",
    "grid = 3": r"^grid must be a table of lists, \[grid\]; got 3",
    "grid.horizon = 9": r"^grid\.horizon must be a list of the values to try; got 9",
    "grid.horizon = [9, 9]": r"^grid\.horizon must not have a value twice; got 9",
    "grid.horizon = [400, 0]": r"^horizon must be a whole number .*; got 0 \(study\.toml, at horizon = 0\)",
    "grid.name = ['a']": r"^grid\.name cannot vary",
    "grid.polices.x = [1]": r"^polices is not a field of a study; got .*; did you mean 'policies'\?",
    "grid.policies.exp.gamma = [1]": (
        r"^grid must be policies\.<name>\.<parameter> .*; got 'policies\.exp\.gamma'; did you mean 'exp3'\?"
    ),
    "grid.seed.x = [1]": r"^grid has 'seed\.x', but seed is no table; got 3",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered_with_the_field_the_rule_and_the_value(write, line):
    field = line.partition("=")[0].strip()
    kept = [old for old in PLAIN.splitlines() if not old.startswith(f"{field} =")]
    if field in ("gap", "gpa", "n_arms", "mean_losses", "shuffled", "kind"):
        text = "\n".join([*kept, line])
    elif field == "environment":
        text = "\n".join([line, *kept[: kept.index("[environment]")]])
    else:
        text = "\n".join([line, *kept])
    with pytest.raises(hf.HoldfastError, match=MISTAKES[line]) as caught:
        read_study(write(text))
    assert "\n" not in str(caught.value)
    assert "study.toml" in str(caught.value)


def test_the_grid_is_named_only_where_it_is_to_blame(write):
    grid = "[grid]\nseed = [1, 2, 3]\nhorizon = [400, 500]\n"
    with pytest.raises(hf.HoldfastError, match=r"did you mean 'horizon'\? \(study\.toml\)$"):
        read_study(write("horizn = 3\n" + PLAIN + grid))
    with pytest.raises(hf.HoldfastError, match=r"got -5 \(study\.toml, at seed = 2, horizon = -5\)$"):
        read_study(write(PLAIN + grid.replace("[1, 2, 3]", "[2]").replace("500", "-5")))


def test_files_that_are_no_study(write, tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    grid = "\n".join(f"policies.exp3.x{i} = [1, 2, 3, 4, 5]" for i in range(9))
    without = {
        missing: "\n".join(line for line in PLAIN.splitlines() if not line.startswith(missing))
        for missing in ("switching_cost", "policies", "horizon")
    }
    for file, said in (
        (write("horizon = 3\nseed = = 4\n", "wrong.toml"), r"wrong\.toml is not TOML: .*line 2"),
        (tmp_path / "none.toml", r"none\.toml cannot be read: .*No such file"),
        (tmp_path, "cannot be read"),
        (tmp_path / "binary.toml", "cannot be read"),
        *(
            (write(text, f"{name}.toml"), rf"^{name} must be given.* \({name}\.toml\)$")
            for name, text in without.items()
        ),
        (write(PLAIN.split("[environment]")[0], "nowhere.toml"), "^environment must be given"),
        (write(f"{PLAIN}[grid]\n{grid}"), r"^grid must not have more than 10000 combinations; got 1953125"),
    ):
        with pytest.raises(hf.HoldfastError, match=said):
            read_study(file)


def test_tables_in_units_of_ones_own(write, tmp_path):
    """The policies' units is the table's; its index is no arm."""
    (tmp_path / "carbon.csv").write_text("hour,east,west\n0,100,500\n1,250,0\n")
    study = read_study(
        write(
            'switching_cost = 20\npolicies = ["tsallis-switch", "exp3"]\n[environment]\nkind = "loss-table"\n'
            'path = "carbon.csv"\nunits = [0, 500]\nindex = "hour"\n'
        )
    )
    (cell,) = study.cells
    assert cell.environment.arms == ("east", "west")
    assert cell.horizon == 2
    assert {policy.units for policy in cell.policies.values()} == {(0.0, 500.0)}


# ---- your own policies and environments, by "module:Class"

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


@pytest.fixture
def checked(monkeypatch) -> list[str]:
    """The classes that a run checks first; `hf.check` itself, which takes seconds, is tested elsewhere."""
    seen: list[str] = []
    monkeypatch.setattr(contract, "check", lambda thing: seen.append(type(thing).__name__))
    return seen


def own_study(module: str, policies: str, environment: str = "") -> str:
    text = PLAIN.replace('policies = ["tsallis-switch", "exp3"]', f"policies = {policies}".replace("MODULE", module))
    if environment:
        text = text.partition("[environment]")[0] + f"[environment]\n{environment}".replace("MODULE", module)
    return text


def test_a_policy_and_an_environment_of_ones_own(write, tmp_path, module, checked):
    entries = '["MODULE:Mine", { policy = "MODULE:Late", name = "second" }, "exp3"]'
    file = write(own_study(module, entries, 'kind = "MODULE:Coins"\nmean_losses = [0.25, 0.5]\nshuffled = true'))
    run = run_study(file, tmp_path / "out")
    assert checked == ["Mine", "Late", "Coins"]
    found = hf.Result.read(run.files["study"])
    policies = {"mine": hf.Exp3(2), "second": hf.BlockExp3(2, switching_cost=1.5, horizon=300), "exp3": hf.Exp3(2)}
    game = {"horizon": 300, "switching_cost": 1.5, "replications": 5, "seed": 3, "checkpoints": [10, 100]}
    direct = hf.simulate(policies, hf.Bernoulli([0.25, 0.5], shuffled=True), **game)
    assert found.frame.equals(direct.frame)
    assert run_study(file, tmp_path / "out", resume=True).found == 5


def test_parameters_are_given_and_vary_as_for_any_other(write, module):
    text = own_study(module, '[{ policy = "MODULE:Mine", name = "mine" }]', 'kind = "MODULE:Turn"\nn_arms = 3\n')
    study = read_study(write(text + '[grid]\npolicies.mine.note = ["a", "b"]\nenvironment.n_arms = [2, 3]\n'))
    assert [cell.policies["mine"].settings()["note"] for cell in study.cells] == ["a", "a", "b", "b"]
    assert [cell.environment.n_arms for cell in study.cells] == [2, 3, 2, 3]
    assert study.cells[0].environment.settings()["horizon"] == 300


def test_other_code_is_another_study(write, tmp_path, module, checked):
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
def test_mistakes_in_your_own_classes(write, module, policies, environment, message):
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
