"""The frozen benchmark: the same bytes everywhere, honest comparisons, and results that fit their suite."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import command_here
from documents import benchmark_tables
from scipy.stats import t as student

from holdfast.bounds import theorem_1
from holdfast.environments import Bernoulli, LossTable
from holdfast.errors import BadSavedState, InvalidParameter
from holdfast.lab import benchmark
from holdfast.lab.benchmark import (
    OVERALL,
    QUICK,
    REPLICATIONS,
    TRACKS,
    BenchmarkResult,
    Setting,
    Track,
    frozen_rivals,
    one_line_lists,
    run_benchmark,
)
from holdfast.lab.plan import paper_settings
from holdfast.runs import document

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("track", TRACKS.values(), ids=list(TRACKS))
def test_the_frozen_results_are_those_of_the_suite(track: Track) -> None:
    rivals = frozen_rivals(track)
    assert list(rivals) == list(track.rivals)
    for costs in rivals.values():
        assert list(costs) == [setting.name for setting in track.settings]
        assert {len(values) for values in costs.values()} == {REPLICATIONS}


def test_results_of_other_settings_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(benchmark, "SEED", 4)
    with pytest.raises(BadSavedState, match="played with other settings than suite 1 has"):
        frozen_rivals(TRACKS["own"])


def test_every_setting_shuffles_its_arms() -> None:
    assert all(setting.environment.shuffled for track in TRACKS.values() for setting in track.settings)


@pytest.mark.slow
@pytest.mark.parametrize("track", TRACKS)
def test_frozen_games_are_played_again_bit_for_bit(track: str) -> None:
    """The quickest rival, with another number of threads and fewer replications than were frozen."""
    again = benchmark.play_track(TRACKS[track], "hold-forever", {"policy": "hold-forever"}, QUICK, workers=2)
    frozen = frozen_rivals(TRACKS[track])["hold-forever"]
    assert again == {name: values[:QUICK] for name, values in frozen.items()}


@pytest.mark.slow
def test_a_policy_of_ones_own_is_ranked_from_the_shell(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nimport holdfast as hf\n\n"
        "@dataclass(frozen=True)\nclass StayPut(hf.HoldForever):\n    id: ClassVar[str] = 'stay-put'\n"
    )
    files = []
    for workers in ("1", "2"):
        out = tmp_path / f"{workers}.json"
        arguments = ["benchmark", "run", "--policy", "mine:StayPut", "--quick", "--workers", workers, "--out", str(out)]
        code = "from holdfast.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        files.append(out.read_bytes())
    assert files[0] == files[1]
    assert "mine:StayPut: rank" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    found = json.loads(files[0])
    assert found["track"] == "own"
    assert found["code"] == {"mine": hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest()}
    assert found["replications"] == QUICK
    assert found["against"]["exp3"]["verdict"] == "better"  # two thirds of the bound apart
    assert found["against"]["adaptive"]["verdict"] == "worse"


@pytest.mark.slow
def test_a_policy_may_have_parameters() -> None:
    """One that is written as a rival was made plays the rival's frozen games."""
    standing = run_benchmark("ucb1:cooldown=100", quick=True)
    assert standing.costs == standing.rivals["ucb1-cooldown-100"]
    assert "ucb1:cooldown=100" in standing.ranking


def test_parameters_that_cannot_be_read_are_said_to_be_the_policys() -> None:
    with pytest.raises(InvalidParameter, match="policy must be an id, or an id with parameters"):
        run_benchmark("adaptive:constants")
    with pytest.raises(InvalidParameter, match="is not a parameter of adaptive; got 1; did you mean 'constants'"):
        run_benchmark("adaptive:constnts=1")


def test_a_policy_must_be_of_the_track_that_it_can_see() -> None:
    with pytest.raises(InvalidParameter, match="track must be 'all' for a policy that sees the losses of all arms"):
        run_benchmark("hedge-switch", track="own")
    unknown = command_here("benchmark", "run", "--policy", "exp4")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("holdfast: --policy must be one of 'adaptive'")


def _standing(
    own: list[float], *others: list[float], places: tuple[str, ...] = ("here",), policy: str = "mine"
) -> BenchmarkResult:
    settings = tuple(Setting(place, "", Bernoulli([0.2, 0.4]), 1.0, 1000) for place in places)
    rivals = {name: dict.fromkeys(places, costs) for name, costs in zip(("rival", "second"), others, strict=False)}
    track = Track("own", "a test", settings, {name: {"policy": "exp3"} for name in rivals})
    return BenchmarkResult(policy, track, dict.fromkeys(places, own), rivals)


@pytest.mark.parametrize(("rivals", "places"), [(1, ("here",)), (2, ("here", "there", "elsewhere"))])
def test_comparisons_are_paired_and_share_their_error(rivals: int, places: tuple[str, ...]) -> None:
    """With every rival, in every setting and in the score."""
    own, other = [1.0, 4.0, 2.0, 8.0], [2.0, 5.5, 3.0, 9.0]
    found = _standing(own, *[other] * rivals, places=places).against("rival", "here")
    difference = np.array(own) - np.array(other)
    error = 0.05 / (rivals * (len(places) + 1))
    half = student.ppf(1 - error / 2, 3) * difference.std(ddof=1) / 2
    assert (found.low, found.high) == pytest.approx((difference.mean() - half, difference.mean() + half), rel=1e-5)


def test_a_policy_that_bears_a_rivals_name_is_not_ranked_against_it() -> None:
    standing = _standing([1.0, 1.1, 0.9, 1.0], [1.0, 1.1, 0.9, 1.0], [5.0, 4.9, 5.1, 5.3], policy="rival")
    assert (standing.ranks(), standing.ranking) == ((1, 1), ["rival", "second"])
    assert standing.plain()["of"] == 2


@pytest.mark.parametrize(("n_arms", "best"), [(2, 1), (3, 2), (4, 3), (8, 3)])
def test_ties_are_of_three_best_arms_or_of_as_many_as_there_are_beside_another(n_arms: int, best: int) -> None:
    means = paper_settings(1000, n_arms)["ties-stochastic"].environment.settings()["mean_losses"]
    assert means == [0.3] * best + [0.5] * (n_arms - best)


def test_a_bound_is_in_the_units_of_the_losses() -> None:
    table = LossTable([[0.0, 400.0]] * 100, units=(-100.0, 400.0))
    expected = 500.0 * theorem_1(n_arms=2, switching_cost=0.2, horizon=100)
    assert Setting("here", "", table, 100.0, 100).bound == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("own", "verdict", "ranks"),
    [
        ([1.0, 1.1, 0.9, 1.0], "better", (1, 1)),
        ([9.0, 9.1, 8.9, 9.0], "worse", (2, 2)),
        ([5.0, 4.9, 5.1, 5.3], "not decided", (1, 2)),
        ([5.0, 5.0, 5.0, 5.0], "not decided", (1, 2)),  # the same games
    ],
)
def test_what_is_not_decided_is_said_to_be(own: list[float], verdict: str, ranks: tuple[int, int]) -> None:
    standing = _standing(own, [5.0, 5.0, 5.0, 5.0])
    assert standing.verdict("rival", "here") == standing.verdict("rival", OVERALL) == verdict
    assert standing.ranks() == ranks
    shown = "\n".join(standing.lines())
    assert ("not decided" in shown.split("mine: rank")[1].splitlines()[0]) is (verdict == "not decided")


def test_a_score_is_the_share_of_the_bound_in_the_mean_over_the_settings() -> None:
    standing = _standing([10.0, 20.0, 30.0, 40.0], [5.0] * 4, places=("here", "there"))
    bound = 5.25 * (1.0 * 2) ** (1 / 3) * 1000 ** (2 / 3) + 6.4 * (2 * 1000) ** 0.5 + 3 * 4**0.5 + 5.25 + 6.25
    assert standing.score("mine")[0] == pytest.approx(25.0 / bound, rel=1e-5)


def test_a_result_is_plain_json_with_its_lists_on_one_line() -> None:
    text = one_line_lists(document(_standing([1.0, 2.0], [2.0, 3.0]).plain())).decode()
    assert '"here": [1.0, 2.0]' in text
    assert json.loads(text)["costs"] == {"here": [1.0, 2.0]}


def test_the_document_shows_the_frozen_results() -> None:
    page = (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
    assert benchmark_tables() in page
    assert f"Suite {benchmark.VERSION}" in page
