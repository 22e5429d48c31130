"""Run every example of the documents, so that it stays true."""

import json
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import ROOT, Shell, blocks, pages, run_commands, run_python

ELSEWHERE = {
    "README.md": "tests/package/test_documents.py",
    "docs/litellm.md": "tests/adapters/test_litellm.py",
    "docs/new_environment.md": "tests/package/test_documents.py",
    "docs/new_policy.md": "tests/package/test_documents.py",
    "docs/production.md": "tests/decisions/test_documents.py",
    "docs/openfeature.md": "tests/adapters/test_openfeature.py",
    "docs/research_tools.md": "tests/adapters/test_research.py",
    "docs/replay.md": "tests/replays/test_replay_docs.py",
}
"""Pages whose code has tests of its own."""

NOT_RUN = {"docs/scale.md": "SSHCluster", "docs/service.md": 'token="hf_…"'}
"""Text of the one block of a page that needs other machines, or a server with tokens."""

BEFORE = {
    "docs/theory/adaptive.md": """
import json
import holdfast as hf

player = hf.AdaptiveTsallisSwitch(8, switching_cost=1.0).player(seed=1)
for _ in range(20):
    player.ask()
    player.tell(0.5 * player.hold, rounds=player.hold)
"""
}
"""Code that a reader has run before the first block of a page."""

PAGES = {page.relative_to(ROOT).as_posix(): page for page in pages()}


def python_blocks(document: str | Path) -> list[str]:
    return [code for language, code in blocks(ROOT / document) if language == "python"]


def code_of(name: str) -> list[tuple[str, str]]:
    """Return the blocks of a page that are run: Python, and in tutorials commands too."""
    wanted = ("python", "console") if "/tutorials/" in name else ("python",)
    skipped = NOT_RUN.get(name)
    return [(kind, code) for kind, code in blocks(PAGES[name]) if kind in wanted and not (skipped and skipped in code)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if name not in ELSEWHERE and code_of(name)])
def test_the_code_of_a_page_runs(name, tmp_path, monkeypatch):
    if "curl " in PAGES[name].read_text(encoding="utf-8") and not shutil.which("curl"):
        pytest.skip("needs curl")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(BEFORE.get(name, ""), names)
    shell = Shell(tmp_path)
    try:
        for kind, code in code_of(name):
            code = code.replace("8080", port)
            run_python(code, names, name) if kind == "python" else run_commands(code, shell)
    finally:
        shell.close()


def test_the_table_of_a_turn_in_the_guide_to_losses_is_right():
    """8,000 tokens of context, 400 new, 300 written, at 0.30, 3.75 and 15 $ a million."""
    warm, cold = (round((8000 * context + 400 * 3.75 + 300 * 15) * 1e-6, 4) for context in (0.30, 3.75))
    assert (warm, cold, round(cold - warm, 4)) == (0.0084, 0.0360, 0.0276)
    text = PAGES["docs/loss_and_lambda.md"].read_text(encoding="utf-8")
    assert f"{warm:.4f} $ |" in text
    assert f"{cold:.4f} $ |" in text


def test_what_is_not_run_or_run_elsewhere_is_there():
    for name, line in NOT_RUN.items():
        code = next(code for code in python_blocks(name) if line in code)
        compile(code, name, "exec")
    for name, test in ELSEWHERE.items():
        assert Path(name).name in (ROOT / test).read_text(encoding="utf-8"), name
        assert python_blocks(name), name


@pytest.mark.parametrize("name", PAGES)
def test_data_that_is_shown_can_be_read(name):
    for language, text in blocks(PAGES[name]):
        if language == "json":
            json.loads(text)
        elif language == "toml":
            tomllib.loads(text)


def run(tmp_path: Path, code: str) -> str:
    script = tmp_path / "shown.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_readme_runs_from_top_to_bottom(tmp_path):
    shown_code = python_blocks("README.md")
    assert len(shown_code) == 3
    shown = run(tmp_path, "\n".join(shown_code))
    (printed,) = re.findall(r"^print\(player.*# (.*)$", shown_code[0], re.MULTILINE)
    assert shown.startswith(f"{printed}\n")
    assert "adaptive − tsallis-switch: regret_with_switching" in shown


@pytest.mark.slow
def test_the_skeleton_of_a_policy_plays(tmp_path):
    assert "epsilon-leader" in run(tmp_path, python_blocks("docs/new_policy.md")[0])


@pytest.mark.slow
def test_the_skeleton_of_an_environment_plays(tmp_path):
    skeleton, walks, answered = python_blocks("docs/new_environment.md")
    assert "adaptive" in run(tmp_path, skeleton)
    assert run(tmp_path, f"{walks}\n{answered}").count("tracking") == 4


@pytest.mark.slow
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
    shown = run(tmp_path, side_by_side.rstrip() + again)
    assert "random-optimism" in shown
    assert shown.endswith("alike\n")


def test_the_guides_to_extending_use_public_names_only():
    """Names that blocks import, and those they reach through an object."""
    for document in sorted((ROOT / "docs").glob("new_*.md")):
        for code in python_blocks(document.relative_to(ROOT)):
            imported = re.findall(r"^(?:from|import) (holdfast\S*)", code, re.MULTILINE)
            assert set(imported) <= {"holdfast", "holdfast.kernels"}, document.name
            assert not re.findall(r"\._[a-z]", code), document.name


@pytest.mark.slow
def test_a_saved_game_of_ones_own_policy_is_found_by_module_and_class(tmp_path):
    (tmp_path / "follow.py").write_text(python_blocks("docs/new_policy.md")[0])
    code = """
import holdfast as hf
from follow import EpsilonLeader

player = EpsilonLeader(4, switching_cost=0.1).player(seed=1)
player.ask()
player.tell(0.5)
assert '"follow:EpsilonLeader"' in player.save()
assert hf.Player.load(player.save(), allow=["follow"]).save() == player.save()
"""
    run(tmp_path, code)


def test_every_test_that_a_page_names_exists():
    """In full, or by its name alone after a file's."""
    tests = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    count = 0
    for page in PAGES.values():
        for file, name in re.findall(r"`([\w/]*test_\w+\.py)?(?:::)?(test_\w+)`", page.read_text("utf-8")):
            count += 1
            held = [text for path, text in tests.items() if path.endswith(file)]
            assert any(f"def {name}(" in text for text in held), f"{page.name}: {file}::{name}"
    assert count > 70


@pytest.mark.parametrize("file", ["CONTRIBUTING.md", "docs/new_policy.md", "docs/new_environment.md", "noxfile.py"])
def test_every_file_that_a_guide_or_a_lane_names_exists(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.findall(r"\b(?:src|tests|scripts|docs|benchmarks)/[\w./]+(?![\w./*])", text)
    named = {name.rstrip("./") for name in found}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
