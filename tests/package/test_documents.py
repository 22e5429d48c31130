"""What the documents show is run, so that it stays true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def python_blocks(document: str | Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def run(tmp_path: Path, code: str) -> str:
    script = tmp_path / "shown.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_runs_from_top_to_bottom(tmp_path):
    blocks = python_blocks("README.md")
    assert len(blocks) == 3
    shown = run(tmp_path, "\n".join(blocks))
    assert "1000 " in shown
    assert "adaptive − tsallis-switch: regret_with_switching" in shown


def test_the_skeletons_of_policies_play(tmp_path):
    skeleton, side_by_side = python_blocks("docs/new_policy.md")
    assert "epsilon-leader" in run(tmp_path, skeleton)
    assert "random-optimism" in run(tmp_path, side_by_side)


def test_the_skeleton_of_an_environment_plays(tmp_path):
    (skeleton,) = python_blocks("docs/new_environment.md")
    assert "adaptive" in run(tmp_path, skeleton)


def test_the_skeleton_for_games_side_by_side_plays_each_game_as_alone(tmp_path):
    _, side_by_side = python_blocks("docs/new_policy.md")
    again = """
    alone = [
        hf.simulate(RandomOptimism(8), hf.Bernoulli.with_gap(8, 0.1), horizon=10_000, switching_cost=0.1,
                    replications=1, first_replication=i, checkpoints=result.provenance["checkpoints"])
        for i in range(100)
    ]
    assert RandomOptimism(8).kernels.side_by_side
    assert hf.Result.concat(alone).frame.equals(result.frame)
    print("alike")
"""
    assert run(tmp_path, side_by_side.rstrip() + again).endswith("alike\n")


def test_a_policy_outside_the_package_is_cached_under_its_own_source(tmp_path):
    """Changing a user's file must change what is played, though the kernels' names stay."""
    skeleton, _ = python_blocks("docs/new_policy.md")
    longer = skeleton.replace("= arm, 10.0", "= arm, 500.0")
    assert longer != skeleton
    assert run(tmp_path, skeleton) != run(tmp_path, longer)


def test_the_guides_to_extending_use_public_names_only():
    """What they import, and what they reach through an object."""
    for document in sorted((ROOT / "docs").glob("new_*.md")):
        for code in python_blocks(document.relative_to(ROOT)):
            imported = re.findall(r"^(?:from|import) (holdfast\S*)", code, re.MULTILINE)
            assert set(imported) <= {"holdfast", "holdfast.kernels"}, document.name
            assert not re.findall(r"\._[a-z]", code), document.name


def test_a_saved_game_of_ones_own_policy_is_found_by_module_and_class(tmp_path):
    (tmp_path / "follow.py").write_text(python_blocks("docs/new_policy.md")[0])
    code = """
import holdfast as hf
from follow import EpsilonLeader

player = EpsilonLeader(4).player(seed=1)
player.ask()
player.tell(0.5)
assert '"follow:EpsilonLeader"' in player.save()
assert hf.Player.load(player.save(), allow=["follow"]).save() == player.save()
"""
    run(tmp_path, code)


def test_every_link_between_documents_leads_somewhere():
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_test_the_errata_name_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "errata.md").read_text())
    assert len(named) > 30
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(), f"{file}::{name}"


@pytest.mark.parametrize("file", ["CONTRIBUTING.md", "docs/new_policy.md", "docs/new_environment.md", "noxfile.py"])
def test_every_file_that_a_guide_or_a_lane_names_exists(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    named = {name.rstrip("./") for name in re.findall(r"\b(?:src|tests|scripts|docs|benchmarks)/[\w./]+", text)}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
