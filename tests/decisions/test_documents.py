"""The examples of docs/production.md, run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")


def example(first_line: str) -> str:
    """The block of code that begins with this line."""
    blocks = re.findall(r"```(?:python|bash)\n(.*?)```", TEXT, flags=re.DOTALL)
    return next(block for block in blocks if block.startswith(first_line))


def run(folder: Path, *command: str) -> str:
    source = str(Path(holdfast.__file__).parents[1])
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": source, "PATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_can_be_tried_one_after_the_other(folder):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```python\n(router = .*?)```", readme, flags=re.DOTALL)
    assert first is not None
    (folder / "readme.py").write_text(f"import holdfast as hf\n\n{first[1]}", encoding="utf-8")
    (folder / "first.py").write_text(example("import holdfast as hf"), encoding="utf-8")
    (folder / "router.py").write_text(example("# router.py"), encoding="utf-8")
    said = [run(folder, sys.executable, name) for name in ("readme.py", "first.py", "router.py")]
    assert re.match(r"200 requests, \d+ switches, mean loss 0\.\d+", said[-1])


def test_the_pieces_of_the_guide_run_one_after_the_other(folder):
    """All blocks but programs, which have a name."""
    pieces = re.findall(r"```python\n(?!# \w+\.py)(.*?)```", TEXT, flags=re.DOTALL)
    program = "\n".join(pieces)
    assert len(pieces) >= 13
    (folder / "guide.py").write_text(program, encoding="utf-8")
    compared, totals, why, *_, changes = run(folder, sys.executable, "guide.py").splitlines()
    assert compared.startswith("too early to say")
    assert int(totals.split()[0]) == 106
    assert why.startswith("Block")
    assert "contexts have grown" in changes
    assert (folder / "log.parquet").exists()


@pytest.fixture
def shell(folder) -> Path:
    """A folder with the example, a job, and the command as it will be installed."""
    (folder / "place.sh").write_text(example("# place.sh"), encoding="utf-8")
    (folder / "run_job").write_text("#!/bin/sh\necho 0.25\n")
    (folder / "holdfast").write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    for name in ("run_job", "holdfast"):
        (folder / name).chmod(0o755)
    return folder


def test_a_job_placer_called_from_cron(shell):
    for _ in range(2):
        assert run(shell, "bash", "place.sh").strip() == "told"
    with holdfast.open(f"sqlite:///{shell}/jobs.db", "nightly") as router:
        assert (router.rounds, router.history.totals.losses) == (2, 0.5)


def test_a_fleet_of_ten_thousand_devices(folder):
    (folder / "fleet.py").write_text(example("# fleet.py"), encoding="utf-8")
    assert re.match(r"480000 decisions, \d+\.\d switches per device", run(folder, sys.executable, "fleet.py"))


def test_the_first_lines_decide_and_load_nothing_heavy(folder):
    program = example("import holdfast as hf\n\npolicy =") + "import sys\nprint(router.rounds, *sys.modules)"
    rounds, *modules = run(folder, sys.executable, "-c", program).split()
    loaded = set(modules)
    assert rounds == "1"
    assert "sqlite3" in loaded
    assert not loaded & {"polars", "psycopg", "typer", "matplotlib"}


def test_block_lengths_as_the_text_says():
    from holdfast.numerics.schedules import theorem_1_length, whole_rounds

    assert [int(whole_rounds(theorem_1_length(n, 8.0, 1.0))) for n in (10.0, 10_000.0)] == [2, 54]
