"""``make test-versions``: the core suite with the oldest and the newest dependencies that pyproject.toml allows."""

from pathlib import Path

import nox

nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False  # those that this machine lacks are named at the end

CORE = (
    "tests/_numba/test_machine_code.py",
    "tests/_numba/test_cache.py",
    "tests/_numba/test_rows_in_kernels.py",
    "tests/numerics",
    "tests/policies/test_side_by_side.py",
    "tests/policies/test_policies.py",
    "tests/players/test_player.py",
    "tests/players/test_saved_players.py",
    "tests/simulation/test_same_numbers.py",
    "tests/simulation/test_simulation.py",
    "tests/decisions/test_model.py",
)
WITH_PROCESSES = ("tests/package/test_cli.py", "tests/simulation/test_executors.py", "tests/service/test_api.py")
RESOLUTION = {"oldest": "lowest-direct", "newest": "highest"}
TOOLS = ("hypothesis", "mpmath", "pytest", "pytest-xdist", "scipy")


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
@nox.parametrize("dependencies", ["oldest", "newest"])
def core(session: nox.Session, dependencies: str) -> None:
    """Policies, players, simulation, numerics and decisions; commands, Dask and the service."""
    session.install("--resolution", RESOLUTION[dependencies], ".[all]")
    session.install(*TOOLS)  # what is installed already stays
    session.run("uv", "pip", "freeze", external=True)
    pytest = ("pytest", "--numprocesses", "2", "--dist", "loadfile")
    if session.posargs:
        session.run(*pytest, *session.posargs)
        return
    session.run(*pytest, "-m", "not slow", *CORE)
    session.run(*pytest, *WITH_PROCESSES)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
@nox.parametrize("dependencies", ["oldest", "newest"])
def wheel(session: nox.Session, dependencies: str) -> None:
    """The wheel in an empty environment: what README.md shows of deciding, and with the extra `all` the rest."""
    folder = session.create_tmp()
    session.run("uv", "build", "--out-dir", folder, external=True)  # by way of the source archive, as a release
    file = max(Path(folder).glob("holdfast-*.whl")).resolve()
    project = nox.project.load_toml("pyproject.toml")["project"]
    needed = list(project["dependencies"])  # given again: only what is given is the oldest
    for extra, options in (("", ["--decide"]), ("[all]", [])):
        wanted = f"holdfast{extra} @ {file.as_uri()}"
        session.install("--resolution", RESOLUTION[dependencies], wanted, *needed)
        session.run("python", "scripts/readme_commands.py", *options)
        optional = project["optional-dependencies"]
        parts = ["simulate", *optional["all"][0].partition("[")[2].rstrip("]").split(",")]
        needed += [one for part in parts for one in optional[part] if not one.startswith("holdfast[")]
