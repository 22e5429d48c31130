"""A store only names the policy of a game: no module is imported that the caller did not allow."""

import importlib
import sys

import pytest
from commands import command_here
from service import InThread, problem

import holdfast as hf

SOURCE = """
import holdfast as hf

print("this code ran")

class Stranger(hf.TsallisSwitch):
    pass
"""
NAME = "module_in_a_store:Stranger"


@pytest.fixture
def url(tmp_path, monkeypatch):
    """A store with a game of a class whose module lies beside it, and which is not imported any more."""
    (tmp_path / "module_in_a_store.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    kind = importlib.import_module("module_in_a_store").Stranger
    url = f"sqlite:///{tmp_path}/games.db"
    with hf.open(url, "game", kind(arms=["a", "b"], switching_cost=0.5), seed=1) as router:
        router.ask()
    hf.open(url, "other", hf.Exp3(2)).close()
    del sys.modules["module_in_a_store"]
    yield url
    sys.modules.pop("module_in_a_store", None)


@pytest.mark.parametrize("allow", [(), ["exp3"], ["module_in"], ["module_in_a_store:Other"], [hf.Exp3]])
def test_a_module_that_is_not_allowed_is_not_imported(url, allow, capsys):
    capsys.readouterr()
    with pytest.raises(hf.BadSavedState, match=rf"allow=\['{NAME}'\] imports the module module_in_a_store"):
        hf.open(url, "game", allow=allow)
    assert "module_in_a_store" not in sys.modules
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("allow", ["module_in_a_store", NAME])
def test_a_module_that_is_allowed_is(url, allow):
    router, other = hf.open(url, "game", allow=[allow]), hf.open(url, "game", allow=[allow])
    assert type(router.policy).__name__ == "Stranger"
    router.change(switching_cost=2.0, add_arms=["c"])
    other.tell([(decision.id, 0.5) for decision in other.ask(20)])  # follows the change
    assert other.policy == router.policy
    assert (getattr(other.policy, "switching_cost", None), other.policy.arms) == (2.0, ("a", "b", "c"))
    assert type(other.policy) is type(
        hf.open(url, "game", type(other.policy)(arms=list("abc"), switching_cost=2.0)).policy
    )


@pytest.mark.slow
def test_the_shell_imports_what_it_may(url, tmp_path):
    out = str(tmp_path / "log.csv")
    verbs = {
        "ask": (url, "game"),
        "show": (url, "game"),
        "settle": (url, "game"),
        "change": (url, "game", "--switching-cost", "0.25"),
        "export": (url, "game", "--out", out),
        "tell": (url, "game", "x-1-0-y", "0.5"),
    }
    for verb, words in verbs.items():
        ran = command_here("store", verb, *words)
        assert ran.returncode != 0
        assert NAME in ran.stderr
    listed = command_here("store", "list", url)
    assert "this code ran" not in listed.stdout
    assert NAME in listed.stdout.replace("\n", "")
    assert "module_in_a_store" not in sys.modules
    for verb in list(verbs)[:-1]:
        assert command_here("store", verb, *verbs[verb], "--allow", NAME).returncode == 0
    told = command_here("store", "tell", *verbs["tell"], "--allow", NAME)
    assert NAME not in told.stderr
    assert "error" not in command_here("store", "list", url, "--json", "--allow", NAME).stdout


def test_a_server_plays_it_where_it_is_allowed(url):
    game = "/v1/games/game"
    with InThread(url) as web:
        refused = problem(web("GET", game), 500, hf.BadSavedState)
        assert f"`holdfast serve --allow {NAME}`" in refused["detail"]
        (line,) = [line for line in web("GET", "/v1/games").json["games"] if line["name"] == "game"]
        assert (line["rounds"], line["cost"]) == (None, None)
        assert f"--allow {NAME}" in line["warnings"][0]
        assert f"--allow {NAME}" in web("GET", "/").body.decode()
        assert b'holdfast_game_rounds{game="game"}' not in web("GET", "/metrics").body
    assert "module_in_a_store" not in sys.modules
    with InThread(url, allow=[NAME]) as web:
        assert web("POST", f"{game}/decisions").status == 200
        body = {"policy": NAME, "arms": ["a", "b"], "switching_cost": 0.5}
        assert web("PUT", "/v1/games/new", body).status == 201
        assert hf.open(web.url, "new", allow=[NAME]).policy.arms == ("a", "b")
