# One environment, made from pyproject.toml and constraints.txt; every target makes it when it is missing.
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PYTHON ?= python3
INSTALLED := $(VENV)/.installed
# Half as many again as there are cores: many tests wait for a server, a browser or a clock.
WORKERS := $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) * 3 / 2 )))
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

# Tests start hundreds of processes: each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

LITELLM := .venv-litellm/bin/python
SITE := build/docs
EPOCH = $(shell git log -1 --format=%ct)

.PHONY: install lint types types-of-tests check size test mutants test-versions coverage docs dist reproduce evidence pdf paper bench bench-peers clean

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		pip hatchling hatch-fancy-pypi-readme editables
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--no-build-isolation --editable '.[all]' --group dev
	touch $(INSTALLED)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory --jobs --output-sync types types-of-tests

types: $(INSTALLED)
	$(BIN)/mypy

types-of-tests: $(INSTALLED)
	$(BIN)/mypy --config-file tests/mypy.ini

# Modules, lines, AST nodes, and the ten largest files.
size:
	@$(PYTHON) scripts/size.py

# Before each commit: lint, types and the fast tests.
check: lint
	$(PYTEST) -m "not slow"

# Everything, with the real partners of the adapters. Installs Chromium, HAProxy and PostgreSQL from the system's packages where it may: root on Debian.
test: lint
	-$(MAKE) --no-print-directory $(VENV)/.partners  # what cannot be had is skipped
	scripts/browser
	scripts/postgresql
	scripts/haproxy
	scripts/litellm
	scripts/openfeature
	$(PYTEST)
	test ! -x $(LITELLM) || $(LITELLM) -m pytest tests/adapters/test_litellm.py
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m plain

# Plant a fixed sample of small faults in the core, one at a time: do the fast tests notice? At most 30 minutes.
mutants: $(INSTALLED)
	$(BIN)/python scripts/mutants.py

# The core suite, and the wheel alone, with the oldest and the newest dependencies, on each Python that this machine has.
test-versions:
	test -x .venv-nox/bin/nox || $(PYTHON) -m venv .venv-nox
	.venv-nox/bin/python -m pip install --quiet --disable-pip-version-check 'nox>=2025.2.9' 'uv>=0.7'
	$(if $(shell command -v pyenv),PYENV_VERSION=$(shell pyenv versions --bare | paste -sd:)) .venv-nox/bin/nox

# Lines of the package that the tests run. Kernels count where they run with the compiler off.
coverage: $(INSTALLED)
	$(PYTEST) --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m plain --cov --cov-append --cov-report=term-missing:skip-covered

# The site, in $(SITE). Every example and picture is made anew if it or the package changed; a warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs $(SITE)
	$(BIN)/python scripts/check_site.py $(SITE)

# Source archive, wheel and software bill of materials, in dist/. Built twice, the wheel from the archive and from
# this folder: the same bytes must come out.
dist: $(VENV)/.dist
	rm -rf dist build/again build/installed
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m build --no-isolation --outdir dist
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m build --no-isolation --sdist --wheel --outdir build/again
	diff -r dist build/again
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv build/installed
	build/installed/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --output-file dist/holdfast.cdx.json \
		build/installed/bin/python

$(VENV)/.%: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --group $*
	touch $@

reproduce: $(INSTALLED)
	$(BIN)/holdfast reproduce

# Our own evidence, played and judged, and the tables of docs/arena.md and docs/benchmark.md. Hours; goes on where it was stopped.
EVIDENCE := build/evidence
evidence: $(INSTALLED)
	$(BIN)/python experiments/arena.py --out $(EVIDENCE)/arena $(if $(wildcard $(EVIDENCE)/arena/games/record.json),--resume)
	$(BIN)/python experiments/adaptive_claims.py
	$(BIN)/python experiments/changing_claims.py --write
	$(BIN)/python experiments/full_information_claims.py
	$(BIN)/python experiments/documents.py arena $(EVIDENCE)/arena/arena.json
	$(BIN)/python experiments/documents.py benchmark

# docs/paper/paper.pdf from docs/paper/numbers.csv. Installs LaTeX from the system's packages where it may: root on Debian.
pdf: $(INSTALLED)
	scripts/latex
	$(BIN)/python experiments/write_up.py
	latexmk -cd -gg -pdf -interaction=nonstopmode -halt-on-error docs/paper/paper.tex

# Both made anew: the games, a quarter of an hour, and the PDF.
paper: $(INSTALLED)
	$(BIN)/python experiments/write_up.py --play
	$(MAKE) --no-print-directory pdf

bench: $(INSTALLED)
	$(BIN)/python benchmarks/simulations.py

# The public libraries Holdfast is compared with, in an environment of their own.
bench-peers: $(INSTALLED)
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements-peers.txt
	$(BIN)/python benchmarks/simulations.py
	$(BIN)/python benchmarks/against_peers.py .venv-peers/bin/python

clean:
	rm -rf $(VENV) .venv-litellm .venv-node .venv-nox .venv-peers .nox .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis reproduction build dist docs/pictures docs/reference/generated
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} +
