# One virtual environment, grown on demand; a stamp file remembers what is in it, so that only a change of
# pyproject.toml installs anything again. Needs Python 3.11 or later (choose it with PYTHON=...) and make.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Pytest worker processes; 0 runs all in one.
JOBS ?= 2
# Not `python -m pytest`: that would put the root, and with it the links, on the import path.
PYTEST := $(BIN)/pytest
DEMO_OUT ?= demo-output
FUZZ_MINUTES ?= 10

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow check lint types layers docs doctest bench fuzz format clean

help: ## say what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: $(VENV)/.stamp-core ## the main job on the data set that the package ships, with a report
	$(BIN)/mmbn-opt demo $(DEMO_FLAGS)

test: $(VENV)/.stamp-test ## every test but the slow ones
	$(PYTEST) -m "not slow" -n $(JOBS) --dist worksteal $(PYTEST_FLAGS)

test-slow: $(VENV)/.stamp-test ## the slow tests
	$(PYTEST) -m slow -n $(JOBS) --dist worksteal $(PYTEST_FLAGS)

check: lint types layers docs doctest ## all that can be checked without running the tests

lint: $(VENV)/.stamp-lint ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.stamp-lint $(VENV)/.stamp-test ## mypy --strict, with the libraries that it looks into
	$(BIN)/mypy --strict

layers: $(VENV)/.stamp-lint ## who may import whom
	$(BIN)/lint-imports

docs: $(VENV)/.stamp-docs ## build the site into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -E -b html docs docs/_build/html

doctest: $(VENV)/.stamp-test ## run the examples of the README, the docs pages and the docstrings
	$(PYTEST) mmbn_opt -n $(JOBS) --dist worksteal $(PYTEST_FLAGS)
	$(PYTEST) README.md docs $(PYTEST_FLAGS)

bench: $(VENV)/.stamp-test ## all benchmarks of benchmarks/index.toml in minutes; BENCH_FLAGS="--full NAME" as in the docs
	$(BIN)/python benchmarks $(BENCH_FLAGS)

fuzz: $(VENV)/.stamp-test ## spoil files and see whether the readers stand it, for FUZZ_MINUTES (10)
	$(BIN)/python tests/fuzz/long_run.py --minutes $(FUZZ_MINUTES)

format: $(VENV)/.stamp-lint ## put the sources into the house form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove all that was built, the environment too
	rm -rf $(VENV) build dist docs/_build docs/_generated $(DEMO_OUT) bench-output
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "mmbn_opt needs Python 3.11 or later, '$(PYTHON)' is not: name another with make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "'$(PYTHON) -m venv' failed (on Debian: apt install python3-venv)" >&2; exit 1; }

$(VENV)/.stamp-core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.stamp-test $(VENV)/.stamp-docs $(VENV)/.stamp-lint: $(VENV)/.stamp-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@ $(VENV)/.stamp-core
