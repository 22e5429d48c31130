"""Features that work without the extras, and the errors where one is missing."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from holdfast.extras import EXTRAS, installed, need

PARTNERS = ("coba", "gymnasium", "litellm", "openfeature", "river")
HIDDEN = "import sys; sys.modules.update(dict.fromkeys(['polars', 'matplotlib', 'pandas', 'pyarrow']))\n"


def without_extras(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN + code, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return without_extras("from holdfast.cli import main; main()", *arguments)


@pytest.mark.slow
def test_decisions_need_no_extra(tmp_path: Path) -> None:
    done = without_extras(
        "import holdfast as hf, holdfast.service.app\n"
        "policy = hf.AdaptiveTsallisSwitch(arms=['a', 'b'], switching_cost=0.3)\n"
        "player = policy.player(seed=1)\n"
        "assert player.ask() in 'ab'; player.tell(0.5); hf.Player.load(player.save()).ask()\n"
        f"router = hf.open('sqlite:///{tmp_path}/r.db', 'chat', policy)\n"
        "router.tell(router.ask().id, loss=0.2)\n"
        "assert router.history.totals.rounds == 1\n"
        "print(sys.modules['polars'])"
    )
    assert (done.stdout, done.returncode) == ("None\n", 0), done.stderr


@pytest.mark.slow
def test_commands_that_need_no_extra(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/r.db"
    for arguments in (
        ("bounds", "--arms", "8", "--switching-cost", "1", "--horizon", "1e6"),
        ("store", "ask", store, "chat", "--policy", "exp3", "--arms", "a,b"),
        ("store", "show", store, "chat"),
        ("warm", "--policies", "exp3"),
    ):
        done = command(*arguments)
        assert (done.stderr, done.returncode) == ("", 0), arguments


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("study", "run", "x.toml", "--out", "x"), ("replay", "x.csv", "--switching-cost", "1")]
)
def test_a_command_says_which_extra_it_needs(arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.stderr == "holdfast: tables of losses and results need polars: pip install 'holdfast[simulate]'\n"
    assert done.returncode == 9


@pytest.mark.slow
def test_a_name_says_which_extra_it_needs() -> None:
    done = without_extras("import holdfast as hf\ntry:\n    hf.simulate\nexcept hf.MissingExtra as error: print(error)")
    assert done.stdout == "tables of losses and results need polars: pip install 'holdfast[simulate]'\n", done.stderr


def test_extras_are_those_of_the_package() -> None:
    file = Path(__file__).parents[2] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for module, (_, extra) in EXTRAS.items():
        assert any(needed.startswith(module) for needed in extras[extra])
        assert not any(needed.startswith(module) for needed in project["dependencies"])
    everything = extras["all"][0].partition("[")[2].rstrip("]").split(",")
    assert {*everything, *PARTNERS, "all", "cuda", "simulate"} == extras.keys()


def test_a_partner_has_its_own_extra_and_comes_with_no_other() -> None:
    file = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for partner in PARTNERS:
        assert all(needed.startswith(partner) and ">=" in needed for needed in extras[partner])
        others = [needed for name, extra in extras.items() if name != partner for needed in extra]
        assert not [needed for needed in others if partner in needed]


@pytest.mark.slow
@pytest.mark.parametrize("partner", PARTNERS)
def test_an_adapter_without_its_partner_says_what_to_install(partner: str) -> None:
    """As where none is installed."""
    hidden = f"import sys; sys.modules[{partner!r}] = None\n"
    code = (
        f"import holdfast as hf\ntry: import holdfast.adapters.{partner}\nexcept hf.MissingExtra as error: print(error)"
    )
    done = without_extras(hidden + code)
    assert done.stdout.startswith("this adapter needs ")
    assert done.stdout.endswith(f": pip install 'holdfast[{partner}]'\n"), done.stderr


def test_a_module_that_lacks_something_of_its_own_is_not_called_missing(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "half_there.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed("half_there")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        need("half_there")
