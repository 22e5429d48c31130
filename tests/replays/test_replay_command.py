"""`holdfast replay` and `holdfast plot`: what they print and write, and how they answer bad files."""

import gzip
import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import command_here, holdfast_command
from study_files import GRID

import holdfast as hf

pytestmark = pytest.mark.slow

GOOD = "time,a,b\n" + "".join(f"2026-01-{d:02} 00:00,{d % 5 / 4},{(d * 3) % 7 / 8}\n" for d in range(1, 29))
HEAD, TAIL = GOOD.splitlines()[:3], GOOD.splitlines()[3:]
QUICK = ("--switching-cost", "0.25,1", "--policies", "exp3,hold-forever", "--replications", "3")


def with_line(line: str) -> str:
    return "\n".join([*HEAD, line, *TAIL]) + "\n"


BAD = {
    "missing": (with_line("2026-01-02 12:00,0.5,"), "line 4 of t.csv, column 'b'; it is missing: fill it in"),
    "outside": (with_line("2026-01-02 12:00,0.5,7"), "column 'b'; give --units LO,HI, or --rescale to take them"),
    "semicolons": (GOOD.replace(",", ";"), "must have commas between columns and points in numbers, not semicolons"),
}  # fmt: skip


def test_a_list_has_commas_or_its_option_is_repeated(tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    common = ("replay", str(tmp_path / "t.csv"), "--index", "time", "--replications", "3")
    once = command_here(*common, "--switching-cost", "0.25, 1", "--policies", "exp3,exp3-blocks:horizon=50")
    again = command_here(
        *(*common, "--switching-cost", "0.25", "--switching-cost", "1"),
        *("--policies", "exp3", "--policies", "exp3-blocks:horizon=50"),
    )
    assert once.returncode == 0, once.stderr
    assert once.stdout == again.stdout
    wrong = command_here(*common, "--switching-cost", "0.25", "1")
    assert wrong.returncode == 2
    assert "(1); a list is written with commas (see holdfast replay --help)" in wrong.stderr


def test_a_replay_from_a_file(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeff" + GOOD, encoding="utf-8")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(GOOD.encode()))
    out = tmp_path / "out"
    run = holdfast_command("replay", str(tmp_path / "t.csv"), *QUICK, "--index", "time", "--out", str(out))
    assert run.returncode == 0, run.stderr
    assert max(map(len, run.stdout.splitlines()[:-1])) <= 80
    assert "λ = 0.25" in run.stdout
    assert run.stdout.splitlines()[-1] == f"The report is {out / 'report.html'}"
    told = json.loads((out / "replay.json").read_text())
    assert told["trace"]["first"] == "2026-01-01 00:00"
    rows = pl.read_parquet(out / "replay.parquet")
    made = hf.replay(
        tmp_path / "t.csv.gz", ["exp3", "hold-forever"], switching_cost=[0.25, 1], replications=3, index="time"
    )
    assert rows.equals(made.frame)
    again = command_here("replay", str(tmp_path / "t.csv"), *QUICK, "--index", "time", "--out", str(out))
    assert again.returncode == 2
    assert "holds this replay already; give --resume" in again.stderr


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_and_nothing_is_written(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / "t.csv").write_text(content)
    out = tmp_path / "deep" / "out"
    run = command_here("replay", str(tmp_path / "t.csv"), *QUICK, "--index", "time", "--out", str(out))
    assert run.returncode == 2
    assert run.stderr.startswith("holdfast: t.csv must ")
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--units", "0"), "--units must be two numbers LO,HI"),
        (("--units", "1,0"), "--units must be two numbers"),
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
def test_mistakes_in_options(tmp_path, options, message):
    (tmp_path / "t.csv").write_text(GOOD)
    quick = QUICK if "--switching-cost" not in options else QUICK[2:]
    run = command_here("replay", str(tmp_path / "t.csv"), *quick, "--index", "time", *options)
    assert run.returncode == 2
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


GERMAN = "Zeit;Nord;Süd\n" + "".join(
    f"{d:02}.01.2026 00:00;" + f"{d % 5 / 4};{(d * 3) % 7 / 8}\n".replace(".", ",") for d in range(1, 29)
)


def test_shapes_of_records(tmp_path):
    """A German file, a long one, a cost for each pair of arms and forecasts, as the shell gives them."""
    (tmp_path / "de.csv").write_text(GERMAN, encoding="utf-8")
    (tmp_path / "t.csv").write_text(GOOD)
    rows = [line.split(",") for line in GOOD.splitlines()[1:]]
    long = "".join(f"{time},{arm},{loss}\n" for time, *pair in rows for arm, loss in zip("ab", pair, strict=True))
    (tmp_path / "long.csv").write_text("when,which,lost\n" + long)
    (tmp_path / "costs.csv").write_text("from,a,b\na,0,0.25\nb,0.5,0\n")
    ahead = "".join(f"{t},{t + h},0.5,0.25\n" for t in range(0, 28, 7) for h in range(7))
    (tmp_path / "forecasts.csv").write_text("issued,round,a,b\n" + ahead)
    quick = ("--policies", "exp3", "--replications", "3", "--switching-cost")
    wide = command_here("replay", str(tmp_path / "t.csv"), "--index", "time", *quick, "0.25")
    for options in (
        ("de.csv", "--index", "Zeit", "--separator", ";", "--decimal", ",", *quick, "0.25"),
        ("long.csv", "--long", "when,which,lost", *quick, "0.25"),
    ):
        run = command_here("replay", str(tmp_path / options[0]), *options[1:])
        assert run.returncode == 0, run.stderr
        table = [line for line in run.stdout.splitlines() if line.startswith("exp3 ")]
        assert table == [line for line in wide.stdout.splitlines() if line.startswith("exp3 ")]
    costs = ("--index", "time", *quick, str(tmp_path / "costs.csv"))
    run = command_here("replay", str(tmp_path / "t.csv"), *costs)
    assert "A switch costs from 0.25 to 0.5" in run.stdout
    seeing = ("--policies", "hedge-switch", "--switching-cost", "0.25", "--replications", "3")
    forecasts = ("--forecasts", str(tmp_path / "forecasts.csv"), "--columns", "a,b", "--index", "time")
    run = command_here("replay", str(tmp_path / "t.csv"), *seeing, *forecasts)
    assert run.returncode == 0, run.stderr
    assert "using your forecasts" in " ".join(run.stdout.split())
    assert "What to do: " in run.stdout
    gap = GOOD.splitlines()
    (tmp_path / "gap.csv").write_text("\n".join(gap[:5] + gap[7:]) + "\n")
    run = command_here("replay", str(tmp_path / "gap.csv"), "--index", "time", *quick, "0.25")
    assert run.returncode == 2
    assert "a row for each day; 2 are missing between line 5 (2026-01-04 00:00) and line 6" in run.stderr
    assert "give --fill last to repeat the row before" in run.stderr
    run = command_here("replay", str(tmp_path / "gap.csv"), "--index", "time", "--fill", "last", *quick, "0.25")
    assert "* Missing rows: 2, the first after 2026-01-04 00:00" in run.stdout


# ---- logs ----


def log_of(rounds: int, seed: int) -> pl.DataFrame:
    """A fair coin over two regions, of which the first loses a quarter and the second a half."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 2, size=rounds)
    losses = (rng.random(rounds) < np.array([0.25, 0.5])[arms]).astype(float)
    names = np.array(["east", "west"])[arms]
    return pl.DataFrame({"when": np.arange(rounds), "region": names, "loss": losses, "p": np.full(rounds, 0.5)})


COLUMNS = ("--arm-column", "region", "--probability-column", "p", "--block-column", "rounds", "--index", "when")


def test_a_german_export_is_one_command(tmp_path):
    """The command of docs/replay.md, on a file as Windows writes it."""
    page = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    holdfast (replay preise.csv [^\n]*--encoding[^\n]*)$", page, re.MULTILINE)
    rng = np.random.default_rng(5)
    lines = ["Stunde;Süd €/MWh;Nord €/MWh"]
    for i, (a, b) in enumerate(rng.uniform(-90, 490, size=(72, 2))):
        cells = [f"{a:.2f}".replace(".", ","), "n/v" if i == 9 else f"{b:.2f}".replace(".", ",")]
        lines.append(f"{1 + i // 24:02}.01.2026 {i % 24:02}:00;{';'.join(cells)}")
    lines[20] = "01.01.2026 19:00;1.342,30;80,00"
    (tmp_path / "preise.csv").write_bytes("\r\n".join(lines).encode("cp1252"))
    arguments = shlex.split(command.replace("preise.csv", str(tmp_path / "preise.csv")))
    run = command_here(*arguments, "--replications", "3", "--policies", "adaptive")
    assert run.returncode == 0, run.stderr
    assert "1 value was missing, the first in line 11 of preise.csv" in run.stdout
    assert "Süd €/MWh" in run.stdout
    run = command_here("replay", str(tmp_path / "preise.csv"), "--index", "Stunde", "--switching-cost", "20")
    assert run.returncode == 2
    for option in ("--encoding cp1252", "--separator ';' and --decimal ,", "--thousands .", "--empty n/v"):
        assert option in run.stderr


def test_a_log_of_play(tmp_path):
    log_of(2000, seed=4).with_columns(client=pl.lit("phone")).write_csv(tmp_path / "log.csv")
    out = tmp_path / "out"
    run = command_here(
        *("replay", str(tmp_path / "log.csv"), "--logged", "--switching-cost", "1", *COLUMNS, "--out", str(out))
    )
    assert run.returncode == 0, run.stderr
    assert max(map(len, run.stdout.splitlines()[:-1])) <= 80
    told = json.loads((out / "log.json").read_text())
    robust = {row["policy"]: row for row in told["rows"] if row.get("estimator") == "doubly_robust"}
    # The intervals hold the truth in 19 of 20 logs; this one is fixed.
    for name, mean in (("only east", 0.25), ("only west", 0.5)):
        assert robust[name]["cost_low"] <= 2000 * mean + 1 <= robust[name]["cost_high"]
        assert robust[name]["effective_blocks"] > 900
    assert pl.read_parquet(out / "log.parquet").height == len(told["rows"])
    assert "only east" in (out / "report.html").read_text()


def test_logs_that_cannot_be_used(tmp_path):
    log = log_of(200, seed=4)
    no_chance = log.with_columns(p=pl.when(pl.col("when") == 3).then(0.0).otherwise(0.5))
    holed = log.with_columns(p=pl.when(pl.col("when") == 3).then(None).otherwise(pl.col("p")))
    cases = {
        "no column": (log.drop("p"), "must have a column 'p' among its columns"),
        "zero": (no_chance, "probabilities at row 3 must be above 0"),
        "a word": (
            log.cast({"loss": pl.String}).with_columns(loss=pl.lit("high")),
            "log.csv must have a number in line 2",
        ),
        "a hole": (holed, "line 5 of log.csv, column 'p'; it is missing"),
        "seldom": (log.head(5), "nothing can be estimated from this log"),
    }
    for name, (frame, message) in cases.items():
        frame.write_csv(tmp_path / "log.csv")
        run = command_here("replay", str(tmp_path / "log.csv"), "--logged", "--switching-cost", "1", *COLUMNS)
        assert run.returncode == 2, name
        assert message in run.stderr, name
        assert run.stderr.count("\n") == 1, name
    assert "log player.probability" in run.stderr or "log more rounds" in run.stderr


# ---- plot ----


def test_plot_of_a_study(write, tmp_path):
    write(GRID)
    run = command_here("study", "run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    run = command_here("study", "plot", str(tmp_path / "out"))
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"The plot is {tmp_path / 'out' / 'plot.html'}\n"
    page = (tmp_path / "out" / "plot.html").read_text()
    assert "λ = " in page
    table = sorted((tmp_path / "out").glob("*.parquet"))[0]
    png = tmp_path / "one.png"
    run = command_here(
        "study", "plot", str(table), "--out", str(png), "--measures", "total_cost, switches", "--scale", "log"
    )
    assert run.returncode == 0, run.stderr
    assert png.read_bytes().startswith(b"\x89PNG")
    for arguments, message in (
        ((str(tmp_path),), "must be a folder that `holdfast study run` filled"),
        ((str(table), "--measures", "regret"), "--measures must be one of"),
        ((str(table), "--scale", "logarithmic"), "--scale must be one of"),
        ((str(table), "--out", "x.gif"), "--out must end in .html, .png, .svg, .pdf or .pgf"),
    ):
        run = command_here("study", "plot", *arguments)
        assert run.returncode == 2
        assert message in run.stderr
