# One environment, made from pyproject.toml and constraints.txt; every target makes it when it is missing.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
INSTALLED := $(VENV)/.installed

.PHONY: install test reproduce lint bench bench-peers clean

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

test: lint
	scripts/browser
	scripts/postgresql
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m plain --numprocesses auto --dist loadfile

reproduce: $(INSTALLED)
	$(BIN)/holdfast reproduce

bench: $(INSTALLED)
	$(BIN)/python benchmarks/simulations.py

# The public libraries Holdfast is compared with, in an environment of their own.
bench-peers: $(INSTALLED)
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements-peers.txt
	$(BIN)/python benchmarks/simulations.py
	$(BIN)/python benchmarks/against_peers.py .venv-peers/bin/python

clean:
	rm -rf $(VENV) .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis reproduction
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
