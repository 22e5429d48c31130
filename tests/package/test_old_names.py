"""What 0.3.0 offered under another name still works, with a warning that says the new one."""

import importlib
import sys

import pytest

from holdfast.old_names import MODULES, NAMES


@pytest.mark.plain
@pytest.mark.parametrize(("old", "new"), NAMES.items())
def test_an_old_name_is_the_new_thing(old, new):
    home, _, name = old.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}") as warned:
        value = getattr(importlib.import_module(home), name)
    assert warned[0].filename == __file__
    new_home, _, new_name = new.rpartition(".")
    assert value is getattr(importlib.import_module(new_home), new_name)


@pytest.mark.plain
@pytest.mark.parametrize(("old", "new"), MODULES.items())
def test_an_old_module_has_the_names_of_the_new_one(old, new, monkeypatch):
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.warns(DeprecationWarning, match="is now") as warned:
        module = importlib.import_module(old)
    assert str(warned[-1].message) == f"{old} is now {new}"  # after that of its package
    names = [name for name in vars(importlib.import_module(new)) if not name.startswith("_")]
    assert all(getattr(module, name) is getattr(importlib.import_module(new), name) for name in names)


@pytest.mark.plain
def test_what_never_was_is_still_an_error():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("holdfast.arena_of_mine")
    with pytest.raises(AttributeError, match=r"module 'holdfast.kernels' has no attribute 'x'"):
        getattr(importlib.import_module("holdfast.kernels"), "x")  # noqa: B009
