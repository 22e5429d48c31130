# One environment, made from pyproject.toml and constraints.txt; every target makes it when it is missing.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
INSTALLED := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile

.PHONY: install lint check test coverage reproduce bench bench-peers clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt pip hatchling editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--no-build-isolation --editable '.[dask,report]' --group dev
	touch $(INSTALLED)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Before each commit: lint, types and the fast tests.
check: lint
	$(PYTEST) -m "not slow"

# Everything. Installs Chromium and PostgreSQL from the system's packages where it may: root on Debian.
test: lint
	scripts/browser
	scripts/postgresql
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m plain

# Lines of the package that the tests run, with the compiler off so that kernels count too.
coverage: $(INSTALLED)
	NUMBA_DISABLE_JIT=1 $(PYTEST) --cov --cov-report=term-missing:skip-covered

reproduce: $(INSTALLED)
	$(BIN)/holdfast reproduce

bench: $(INSTALLED)
	$(BIN)/holdfast bench

# The public libraries Holdfast is compared with, in an environment of their own.
bench-peers: $(INSTALLED)
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements-peers.txt
	$(BIN)/holdfast bench
	$(BIN)/python benchmarks/against_peers.py .venv-peers/bin/python

clean:
	rm -rf $(VENV) .venv-peers .nox .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis reproduction
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
