"""Every public name has a docstring; three or more parameters are each described; a class has an example."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import holdfast as hf
from holdfast import bounds
from holdfast.decisions.history import History
from holdfast.decisions.stores import Store

RECORDS = (hf.Decision, hf.Plan, hf.Receipt, hf.Replay, bounds.Bound, bounds.Exponents)
"""Classes that we make and users only read: each field has a docstring of its own."""


NAMES = {name: getattr(hf, name) for name in [*hf.__all__, "open"]} | {"History": History, "Store": Store}
NAMES |= {f"bounds.{name}": getattr(bounds, name) for name in bounds.__all__}


@pytest.mark.parametrize("name", [name for name, thing in NAMES.items() if callable(thing) or inspect.ismodule(thing)])
def test_a_public_name_has_a_docstring(name):
    """Methods and properties of a class too, unless they only override. It begins with a verb or a plain noun."""
    thing = NAMES[name]
    own = vars(thing) if inspect.isclass(thing) else {}
    inherited = {part for base in getattr(thing, "__mro__", ())[1:] for part in vars(base)}
    parts = {
        part: getattr(value, "__func__", value)
        for part, value in own.items()
        if not part.startswith("_") and part not in inherited
    }
    shown = {"": thing} | {part: v for part, v in parts.items() if inspect.isfunction(v) or isinstance(v, property)}
    made_up = f"{getattr(thing, '__name__', name)}("  # as dataclasses and NamedTuples have without one
    headless = ("What ", "Whether ", "Where ", "Who ", "How ", "Of ", "As ", made_up)
    assert [part for part, value in shown.items() if not value.__doc__ or value.__doc__.startswith(headless)] == []


def public() -> Iterator[tuple[str, Any]]:
    """Functions, classes that users make, and their methods; what is overridden is described where it comes from."""
    for name, thing in NAMES.items():
        if not callable(thing):
            continue
        if not inspect.isclass(thing):
            yield name, thing
            continue
        if not (thing in RECORDS or issubclass(thing, (BaseException, tuple)) or inspect.isabstract(thing)):
            yield name, thing
        for method, value in vars(thing).items():
            function = getattr(value, "__func__", value)
            inherited = any(method in vars(base) for base in thing.__mro__[1:])
            kernel = method.endswith("_kernel")  # a function only where the compiler is off
            if inspect.isfunction(function) and not (method.startswith("_") or inherited or kernel):
                yield f"{name}.{method}", function


def parameters_of(thing: Any) -> set[str]:
    return {name.lstrip("*") for name in inspect.signature(thing).parameters if name not in ("self", "cls")}


def described(thing: Any) -> set[str]:
    """The names in the Parameters section of a docstring."""
    doc = inspect.cleandoc(thing.__doc__ or "")
    section = re.search(r"(?m)^Parameters\n-+\n(.*?)(?=\n\S[^\n]*\n-+\n|\n\n\S|\Z)", doc, re.DOTALL)
    if section is None:
        return set()
    lines = [line for line in section[1].splitlines() if line and not line.startswith(" ")]
    return {name.strip() for line in lines for name in line.split(",")}


DESERVING = {name: thing for name, thing in public() if len(parameters_of(thing)) >= 3}


@pytest.mark.parametrize("name", DESERVING)
def test_parameters_are_described(name):
    assert described(DESERVING[name]) == parameters_of(DESERVING[name])


SECTIONED = {name: thing for name, thing in public() if re.search(r"(?m)^ *Parameters$", thing.__doc__ or "")}


@pytest.mark.parametrize("name", SECTIONED)
def test_a_section_of_parameters_holds_nothing_else(name):
    """Text after the parameters has a heading, Notes or Examples; else the site shows it as one more parameter."""
    doc = inspect.cleandoc(SECTIONED[name].__doc__)
    (section,) = re.findall(r"(?m)^Parameters\n-+\n((?:.*\n)*?)(?=\S.*\n---|\Z)", f"{doc}\n")
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    assert [line for line in lines if not re.fullmatch(r"\*{0,2}\w+(, \w+)*", line)] == []


CLASSES = [
    name
    for name in hf.__all__
    if inspect.isclass(thing := getattr(hf, name))
    and not issubclass(thing, (BaseException, tuple))
    and not inspect.isabstract(thing)
    and thing not in RECORDS
]


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_an_example(name):
    """Which the doctests run."""
    assert ">>>" in (getattr(hf, name).__doc__ or "")
