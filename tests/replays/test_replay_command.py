"""`holdfast replay` and `holdfast plot`: what they print and write, and how they answer bad files."""

import gzip
import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import command_here, holdfast_command
from study_files import GRID

import holdfast as hf

GOOD = "time,a,b\n" + "".join(f"2026-01-{d:02} 00:00,{d % 5 / 4},{(d * 3) % 7 / 8}\n" for d in range(1, 29))
HEAD, TAIL = GOOD.splitlines()[:3], GOOD.splitlines()[3:]
QUICK = ("--switching-cost", "0.25,1", "--policies", "exp3,hold-forever", "--replications", "3")


def with_line(line: str) -> str:
    return "\n".join([*HEAD, line, *TAIL]) + "\n"


@pytest.fixture
def replay(tmp_path, monkeypatch):
    """The command in a folder with a record, `t.csv`; what it says."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(GOOD)

    def run(*words, code=0):
        done = command_here("replay", *map(str, words))
        assert done.returncode == code, done.stderr
        assert code == 0 or (done.stderr.count("\n"), done.stdout) == (1, "")
        return done.stderr if code else done.stdout

    return run


BAD = {
    "missing": (with_line("2026-01-02 12:00,0.5,"), "line 4 of t.csv, column 'b'; it is missing: fill it in"),
    "outside": (with_line("2026-01-02 12:00,0.5,7"), "column 'b'; give --units LO,HI, or --rescale to take them"),
    "semicolons": (GOOD.replace(",", ";"), "must have commas between columns and points in numbers, not semicolons"),
}  # fmt: skip


@pytest.mark.slow
def test_a_list_has_commas_or_its_option_is_repeated(replay):
    common = ("t.csv", "--index", "time", "--replications", "3", "--switching-cost")
    once = replay(*common, "0.25, 1", "--policies", "exp3,exp3-blocks:horizon=50")
    policies = ("--policies", "exp3", "--policies", "exp3-blocks:horizon=50")
    assert once == replay(*common, "0.25", "--switching-cost", "1", *policies)
    wrong = replay(*common, "0.25", "1", code=2)
    assert "(1); a list is written with commas (see holdfast replay --help)" in wrong


@pytest.mark.slow
def test_a_replay_from_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeff" + GOOD, encoding="utf-8")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(GOOD.encode()))
    out = tmp_path / "out"
    words = ("replay", str(tmp_path / "t.csv"), *QUICK, "--index", "time", "--out", str(out))
    run = holdfast_command(*words)
    assert run.returncode == 0, run.stderr
    assert max(map(len, run.stdout.splitlines()[:-1])) <= 80
    assert "λ = 0.25" in run.stdout
    assert run.stdout.splitlines()[-1] == f"The report is {out / 'report.html'}"
    told = json.loads((out / "replay.json").read_text())
    assert told["trace"]["first"] == "2026-01-01 00:00"
    policies, costs = ["exp3", "hold-forever"], [0.25, 1]
    made = hf.replay(tmp_path / "t.csv.gz", policies, switching_cost=costs, replications=3, index="time")
    assert pl.read_parquet(out / "replay.parquet").equals(made.frame)
    again = command_here(*words)
    assert again.returncode == 2
    assert "holds this replay already; give --resume" in again.stderr


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_and_nothing_is_written(replay, name):
    content, message = BAD[name]
    Path("t.csv").write_text(content)
    said = replay("t.csv", *QUICK, "--index", "time", "--out", "deep/out", code=2)
    assert said.startswith("holdfast: t.csv must ")
    assert message in said
    assert os.listdir() == ["t.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--units", "0"), "--units must be two numbers LO,HI"),
        (("--units", "1,0"), "--units must be two numbers"),
        (("--clip", "5,1"), "--clip must be two numbers"),
        (("--units", "0,1", "--rescale"), "--rescale must be left out where units are given"),
        (("--index", "tim"), "--index must be one of 'time', 'a', 'b'; got 'tim'; did you mean 'time'?"),
        (("--switching-cost", "-1"), "--switching-cost must be a finite number and not negative"),
        (
            ("--switching-cost", "0,5", "--decimal", ",", "--separator", ";"),
            "--switching-cost may mean one λ or two with --decimal ,: for one write 0.5, for two --switching-cost 0 "
            "--switching-cost 5; got '0,5'",
        ),
        (("--replications", "1"), "--replications must be a whole number from 2"),
        (("--policies", "exp"), "must be one of"),
        (("--logged",), "--policies is not for --logged"),
    ],
)
def test_mistakes_in_options(replay, options, message):
    quick = QUICK if "--switching-cost" not in options else QUICK[2:]
    assert message in replay("t.csv", *quick, "--index", "time", *options, code=2)


GERMAN = "Zeit;Nord;Süd\n" + "".join(
    f"{d:02}.01.2026 00:00;" + f"{d % 5 / 4};{(d * 3) % 7 / 8}\n".replace(".", ",") for d in range(1, 29)
)


@pytest.mark.slow
def test_shapes_of_records(replay):
    """A German file, a long one, a cost for each pair of arms and forecasts, as the shell gives them."""
    rows = [line.split(",") for line in GOOD.splitlines()[1:]]
    long = "".join(f"{time},{arm},{loss}\n" for time, *pair in rows for arm, loss in zip("ab", pair, strict=True))
    ahead = "".join(f"{t},{t + h},0.5,0.25\n" for t in range(0, 28, 7) for h in range(7))
    for name, text in {
        "de.csv": GERMAN,
        "long.csv": "when,which,lost\n" + long,
        "costs.csv": "from,a,b\na,0,0.25\nb,0.5,0\n",
        "forecasts.csv": "issued,round,a,b\n" + ahead,
        "gap.csv": "\n".join(GOOD.splitlines()[:5] + GOOD.splitlines()[7:]) + "\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")

    quick = ("--policies", "exp3", "--replications", "3", "--switching-cost")
    wide = replay("t.csv", "--index", "time", *quick, "0.25")
    for options in (
        ("de.csv", "--index", "Zeit", "--separator", ";", "--decimal", ","),
        ("long.csv", "--long", "when,which,lost"),
    ):
        lines = [
            [line for line in text.splitlines() if line.startswith("exp3 ")]
            for text in (wide, replay(*options, *quick, "0.25"))
        ]
        assert lines[0] == lines[1] != []
    assert "A switch costs from 0.25 to 0.5" in replay("t.csv", "--index", "time", *quick, "costs.csv")
    seeing = ("--policies", "hedge-switch", "--switching-cost", "0.25", "--replications", "3")
    seen = replay("t.csv", *seeing, "--forecasts", "forecasts.csv", "--columns", "a,b", "--index", "time")
    assert "using your forecasts" in " ".join(seen.split())
    assert "What to do: " in seen
    gap = replay("gap.csv", "--index", "time", *quick, "0.25", code=2)
    assert "a row for each day; 2 are missing between line 5 (2026-01-04 00:00) and line 6" in gap
    assert "give --fill last to repeat the row before" in gap
    filled = replay("gap.csv", "--index", "time", "--fill", "last", *quick, "0.25")
    assert "* Missing rows: 2, the first after 2026-01-04 00:00" in filled


# ---- logs ----


def log_of(rounds: int, seed: int) -> pl.DataFrame:
    """A fair coin over two regions, of which the first loses a quarter and the second a half."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 2, size=rounds)
    losses = (rng.random(rounds) < np.array([0.25, 0.5])[arms]).astype(float)
    names = np.array(["east", "west"])[arms]
    return pl.DataFrame({"when": np.arange(rounds), "region": names, "loss": losses, "p": np.full(rounds, 0.5)})


COLUMNS = ("--arm-column", "region", "--probability-column", "p", "--block-column", "rounds", "--index", "when")


@pytest.mark.slow
def test_a_german_export_is_one_command(replay):
    """The command of docs/replay.md, on a file as Windows writes it."""
    page = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    holdfast replay (preise.csv [^\n]*--encoding[^\n]*)$", page, re.MULTILINE)
    rng = np.random.default_rng(5)
    lines = ["Stunde;Süd €/MWh;Nord €/MWh"]
    for i, (a, b) in enumerate(rng.uniform(-90, 490, size=(72, 2))):
        cells = [f"{a:.2f}".replace(".", ","), "n/v" if i == 9 else f"{b:.2f}".replace(".", ",")]
        lines.append(f"{1 + i // 24:02}.01.2026 {i % 24:02}:00;{';'.join(cells)}")
    lines[20] = "01.01.2026 19:00;1.342,30;80,00"
    Path("preise.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    said = replay(*shlex.split(command), "--replications", "3", "--policies", "adaptive")
    assert "1 value was missing, the first in line 11 of preise.csv" in said
    assert "Süd €/MWh" in said
    wrong = replay("preise.csv", "--index", "Stunde", "--switching-cost", "20", code=2)
    for option in ("--encoding cp1252", "--separator ';' and --decimal ,", "--thousands .", "--empty n/v"):
        assert option in wrong


def test_a_log_of_play(replay):
    log_of(2000, seed=4).with_columns(client=pl.lit("phone")).write_csv("log.csv")
    said = replay("log.csv", "--logged", "--switching-cost", "1", *COLUMNS, "--out", "out")
    assert max(map(len, said.splitlines()[:-1])) <= 80
    told = json.loads(Path("out/log.json").read_text())
    robust = {row["policy"]: row for row in told["rows"] if row.get("estimator") == "doubly_robust"}
    # The intervals hold the truth in 19 of 20 logs; this one is fixed.
    for name, mean in (("only east", 0.25), ("only west", 0.5)):
        assert robust[name]["cost_low"] <= 2000 * mean + 1 <= robust[name]["cost_high"]
        assert robust[name]["effective_blocks"] > 900
    assert pl.read_parquet("out/log.parquet").height == len(told["rows"])
    assert "only east" in Path("out/report.html").read_text()


def test_what_a_missing_loss_counts_as_is_an_option(replay):
    """One in ten is missing: worth 3, the log's 100 rounds cost 27 more than those that came."""
    missing = pl.col("when") % 10 == 9
    status = pl.when(missing).then(pl.lit("missing")).otherwise(pl.lit("told"))
    log_of(100, seed=4).with_columns(status=status, loss=pl.when(~missing).then(0.25)).write_csv("log.csv")
    logged = ("log.csv", "--logged", "--switching-cost", "0", *COLUMNS)
    assert re.search(r"what was played +52\.50\n", replay(*logged, "--missing", "3"))
    assert "--missing LOSS" in replay(*logged, code=2)


LOG = log_of(200, seed=4)
CHANCE = pl.when(pl.col("when") == 3)
UNUSABLE = {
    "no column": (LOG.drop("p"), "must have a column 'p' among its columns"),
    "zero": (LOG.with_columns(p=CHANCE.then(0.0).otherwise(0.5)), "probabilities at row 3 must be above 0"),
    "a word": (LOG.with_columns(loss=pl.lit("high")), "log.csv must have a number in line 2"),
    "a hole": (LOG.with_columns(p=CHANCE.then(None).otherwise(0.5)), "line 5 of log.csv, column 'p'; it is missing"),
    "seldom": (LOG.head(5), "nothing can be estimated from this log"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_logs_that_cannot_be_used(replay, name):
    frame, message = UNUSABLE[name]
    frame.write_csv("log.csv")
    assert message in replay("log.csv", "--logged", "--switching-cost", "1", *COLUMNS, code=2)


# ---- plot ----


@pytest.mark.slow
def test_plot_of_a_study(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(GRID)

    def study(*words, code=0):
        run = command_here("study", *words)
        assert run.returncode == code, run.stderr
        return run.stderr if code else run.stdout

    study("run", "study.toml", "--out", "out")
    assert study("plot", "out") == f"The plot is {Path('out/plot.html')}\n"
    assert "λ = " in Path("out/plot.html").read_text()
    table = str(sorted(Path("out").glob("*.parquet"))[0])
    study("plot", table, "--out", "one.png", "--measures", "total_cost, switches", "--scale", "log")
    assert Path("one.png").read_bytes().startswith(b"\x89PNG")
    for arguments, message in (
        ((".",), "must be a folder that `holdfast study run` filled"),
        ((table, "--measures", "regret"), "--measures must be one of"),
        ((table, "--scale", "logarithmic"), "--scale must be one of"),
        ((table, "--out", "x.gif"), "--out must end in .html, .png, .svg, .pdf or .pgf"),
    ):
        assert message in study("plot", *arguments, code=2)
