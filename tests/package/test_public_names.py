"""The names and the cost of `import holdfast`, and every example in a docstring."""

import builtins
import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast

HEAVY = ("matplotlib", "polars", "dask", "distributed", "numba.cuda", "numba_cuda")


def modules() -> list[str]:
    found = pkgutil.walk_packages(holdfast.__path__, "holdfast.", onerror=lambda name: None)
    return ["holdfast"] + [m.name for m in found]


@pytest.mark.plain
def test_public_names_are_sorted_and_there():
    assert holdfast.__all__ == sorted(holdfast.__all__)
    assert len(set(holdfast.__all__)) == len(holdfast.__all__)
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None
    assert dir(holdfast) == sorted([*holdfast.__all__, "__version__", "open"])


@pytest.mark.plain
def test_a_star_import_leaves_the_builtins_alone():
    names: dict[str, object] = {}
    exec("from holdfast import *", names)
    assert not set(vars(builtins)) & set(names) - {"__builtins__", "__doc__", "__name__"}
    assert holdfast.open is not builtins.open


@pytest.mark.plain
def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Exp4'") as caught:
        getattr(holdfast, "Exp4")  # noqa: B009
    assert (caught.value.name, caught.value.obj) == ("Exp4", holdfast)  # so that Python suggests Exp3


@pytest.mark.plain
@pytest.mark.parametrize("package", ["bounds", "environments", "kernels", "players"])
def test_all_of_a_package_is_sorted_and_there(package):
    """Constants first."""
    module = importlib.import_module(f"holdfast.{package}")
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), name))
    for name in module.__all__:
        assert hasattr(module, name)


def loaded_by(program: str) -> set[str]:
    """The modules a fresh interpreter has loaded after running `program`."""
    source = str(Path(holdfast.__file__).parents[1])
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    program += "\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        "import holdfast",
        "import holdfast as hf\np = hf.Exp3(2).player()\np.ask()\np.tell(0.5)\nhf.Player.load(p.save())",
        "import holdfast as hf\nhf.ConstrainedBernoulli(3, 0.2).draw(0, 0, 9, hf.Stream(1, 'a'))",
    ],
    ids=["import", "play", "environment"],
)
def test_importing_and_playing_load_nothing_heavy(program):
    loaded = loaded_by(program)
    assert "holdfast" in loaded
    assert sorted(m for m in loaded if m.startswith(HEAVY) and m.split(".")[0] != "numba") == []
    assert not any(m == "numba.cuda" or m.startswith("numba.cuda.") for m in loaded)


def test_a_policy_is_loaded_alone():
    """With a player of it, saved and loaded by its id."""
    loaded = loaded_by("import holdfast as hf\nhf.Player.load(hf.Exp3(2).player().save())")
    assert "holdfast.policies.exp3" in loaded
    assert not any(m.startswith(("holdfast.policies.adaptive", "holdfast.policies.hedge")) for m in loaded)


def test_importing_alone_does_not_load_the_compiler():
    assert "numba" not in loaded_by("import holdfast")


@pytest.mark.plain
@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    try:
        module = importlib.import_module(name)
    except holdfast.MissingExtra as error:  # an adapter's partner
        assert name.startswith("holdfast.adapters.")
        pytest.skip(str(error))
    failed, _ = doctest.testmod(module)
    assert failed == 0


@pytest.mark.slow
def test_pages_load_what_draws_at_first_use_only():
    loaded = loaded_by("import holdfast.report.plots, holdfast.lab.paper.reproduce")
    assert "polars" in loaded
    assert not any(m.split(".")[0] == "matplotlib" for m in loaded)
