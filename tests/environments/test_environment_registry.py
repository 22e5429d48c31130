"""Environments by name: what `settings` says makes the same environment again, and mistakes are named."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

import holdfast as hf
from holdfast.checks import cores, one_of
from holdfast.environments import ENVIRONMENTS, make_environment
from holdfast.errors import InvalidParameter


def test_every_id_is_known_by_its_class():
    assert {name: kind.id for name, kind in ENVIRONMENTS.items()} == {name: name for name in ENVIRONMENTS}
    assert set(ENVIRONMENTS) >= {"bernoulli", "constrained-bernoulli", "reversal", "loss-table"}


@dataclass(frozen=True)
class Coin(hf.Bernoulli):
    id: ClassVar[str] = "coin"


def test_anyones_class_is_found_by_its_address():
    sys.modules.setdefault(Coin.__module__, sys.modules[__name__])
    made = Coin((0.5, 0.25))
    address = f"{__name__}:Coin"
    assert made.settings()["environment"] == address
    assert make_environment(made.settings()) == made
    assert make_environment({"environment": address, "mean_losses": [0.5]}) == Coin((0.5,))


def test_a_bernoulli_environment_by_its_gap():
    made = make_environment({"environment": "bernoulli", "n_arms": 4, "gap": 0.1, "best_arms": 2, "shuffled": True})
    assert made == hf.Bernoulli.with_gap(4, 0.1, best_arms=2, shuffled=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"environment": "bernouli"}, r"environment must be one of 'bernoulli', .*; got 'bernouli'; did you mean"),
        ({"environment": ["bernoulli"]}, r"environment must be one of .*; got \['bernoulli'\]"),
        ({}, r"environment must be one of .*; got None"),
        (
            {"environment": "no.such:Thing"},
            r'environment must be "module:Class", .*No module named.*; got',
        ),
        ({"environment": "holdfast:Things"}, r'environment must be "module:Class", .*Things.*; got'),
        ({"environment": ":Things"}, r'environment must be "module:Class", .*; got'),
        ({"environment": ".here:Things"}, r'environment must be "module:Class", .*; got'),
        ({"environment": "holdfast:Exp3"}, r"must name a class derived from holdfast.Environment; got 'holdfast:Exp3'"),
        (
            {"environment": "reversal", "n_arm": 3},
            r"n_arm is not a parameter of reversal; got 3; did you mean",
        ),
        ({"environment": "bernoulli", "mean_loss": 3}, r"mean_loss is not a .*; got 3; did you mean 'mean_losses'"),
        ({"environment": "bernoulli", "gap": 0.1}, r"n_arms must be given with gap; got None"),
        ({"environment": "bernoulli", "gap": 0.1, "n_arms": 3, "bestarms": 1}, r"did you mean 'best_arms'"),
        ({"environment": "bernoulli", "gap": 0.1, "mean_losses": [0.1]}, r"gap cannot be given with mean_losses"),
        ({"environment": "loss-table", "source": "no such.csv"}, r"source must be a file; there is none"),
        ("bernoulli", r"settings must be a mapping"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        make_environment(settings)


def test_one_of():
    assert one_of("spacing", "log", ("linear", "log")) == "log"
    with pytest.raises(InvalidParameter, match=r"^spacing must be one of 'linear', 'log'; got 'lin'; did you mean"):
        one_of("spacing", "lin", ("linear", "log"))
    with pytest.raises(InvalidParameter, match=r"'arm19' and 9980 more; got \{\}$"):
        one_of("arm", {}, [f"arm{i}" for i in range(10_000)])


def test_cores_where_the_system_does_not_tell(monkeypatch):
    assert cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert cores() == 3
    assert hf.Threads().width == 3
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert cores() == 1
