"""An option of a command is declared once: it reaches the library's parameter of its name, with the same default."""

import inspect

import pytest
import typer
from generated_reference import commands

import holdfast as hf
from holdfast import cli
from holdfast.command_line import given
from holdfast.lab.benchmark import run_benchmark
from holdfast.lab.paper.reproduce import reproduce
from holdfast.lab.tables import play_in

COMMANDS = commands()
CASES = {
    # the function, what only Python has, what only the shell has
    ("holdfast", "replay"): (
        hf.replay,
        {"losses", "confidence", "progress", "echo"},
        {*cli.OF_LOGS, "help"} - {"switching_cost"},
    ),
    ("holdfast", "reproduce"): (reproduce, {"progress", "echo"}, {"help"}),
    ("holdfast", "study", "run"): (  # run_study hands its options on
        play_in,
        {"plan", "progress", "echo", "finished", "chunks"},
        {"help", "study"},
    ),
    ("holdfast", "benchmark", "run"): (run_benchmark, {"echo"}, {"help", "out"}),
}
READ_OTHERWISE = {"empty", "further", "figures"}
"""Lists, which are None in a shell where they are left out."""


def options_of(words):
    return {one.name: one for one in COMMANDS[words].params}


@pytest.mark.parametrize("words", CASES)
def test_every_parameter_has_its_option_with_the_same_default(words):
    function, of_python, of_shell = CASES[words]
    declared = options_of(words)
    ctx = typer.Context(COMMANDS[words])
    ctx.params = dict.fromkeys(declared.keys() - of_shell, "given")
    called = given(ctx)
    parameters = inspect.signature(function).parameters
    assert set(called) == set(parameters) - of_python
    ctx.params = {name: one.default for name, one in declared.items() if name not in of_shell}
    for name, value in given(ctx).items():
        if name not in READ_OTHERWISE and parameters[name].default is not inspect.Parameter.empty:
            assert value == parameters[name].default, name


def test_options_are_read_by_what_stands_beside_them():
    ctx = typer.Context(COMMANDS["holdfast", "replay"])
    ctx.params = {"units": "0,5", "columns": ["a,b"], "period": ["24,168"], "fill": None, "empty": [], "sees": "own"}
    found = given(ctx, read=cli.READ_BY_REPLAY)
    assert found == {"units": (0.0, 5.0), "arms": ["a", "b"], "period": [24, 168], "sees": "own"}
