"""A saved game only names its policy: no module is imported that the caller did not allow."""

import sys

import pytest
from saved_players import resigned

import holdfast as hf
from holdfast.policies.registry import allowed_policy

SOURCE = """
import holdfast as hf

print("this code ran")

class Stranger(hf.Exp3):
    pass
"""


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A module beside the file, and a saved game that names it."""
    (tmp_path / "strangers_module.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield resigned(hf.Exp3(3).player(seed=1).save(), lambda c: c["policy"].update(policy="strangers_module:Stranger"))
    sys.modules.pop("strangers_module", None)


@pytest.mark.parametrize("allow", [(), ["exp3"], ["strangers"], ["strangers_module:Other"], [hf.Exp3], ["os"]])
def test_a_module_that_is_not_allowed_is_not_imported(stranger, allow, capsys):
    with pytest.raises(hf.BadSavedState) as refusal:
        hf.Player.load(stranger, allow=allow)
    refusal.match(r"allow=\['strangers_module:Stranger'\] imports the module strangers_module; got")
    assert "strangers_module" not in sys.modules
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("allow", ["strangers_module", "strangers_module:Stranger"])
def test_a_module_or_class_that_is_allowed_is(stranger, allow, capsys):
    player = hf.Player.load(stranger, allow=["exp3", allow])
    assert type(player.policy).__name__ == "Stranger"
    assert capsys.readouterr().out == "this code ran\n"
    kind = type(player.policy)
    assert type(hf.Player.load(stranger, allow=[kind]).policy) is kind
    assert hf.Player.load(stranger, policy=kind(3)).policy == kind(3)


def test_what_is_allowed_must_be_a_list():
    with pytest.raises(hf.InvalidParameter, match="allow must be a list of classes or names"):
        allowed_policy("os:system", "os:system")


def test_an_allowed_class_must_be_a_policy():
    with pytest.raises(hf.InvalidParameter, match=r"policy must name a class derived from holdfast.Policy"):
        allowed_policy("pathlib:Path", ["pathlib"])
