# `make run` sets up and starts Detent; `make test` sets up and passes all tests.

PYTHON ?= python3
OUT    ?= results
ARGS   ?=

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
SCENES := .venv-scenes
BOUNDS := tests/servo/test_every_stage.py

.DEFAULT_GOAL := help
.PHONY: help run test bounds test-scenes check bench reproduce clean system-packages scenes

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  Variables: PYTHON (the interpreter, 3.11 or newer), ARGS (passed on), OUT (reproduce's folder)"

run: $(STAMP) ## start the workbench in the browser (detent play)
	$(BIN)/detent play $(ARGS)

test: check system-packages scenes bounds ## all checks, then all tests
	$(BIN)/python -m pytest $(ARGS)

bounds: $(STAMP) ## a few ticks of every stage, with each index checked
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest $(BOUNDS)

test-scenes: $(STAMP) $(SCENES)/.installed ## every scene of gymnasium and dm_control, as a table
	$(BIN)/python tests/wild.py $(SCENES)/lib/python*/site-packages

check: $(STAMP) ## lint, format, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_imports.py

bench: $(STAMP) ## side-by-side ratios (detent bench)
	$(BIN)/detent bench $(ARGS)

reproduce: $(STAMP) ## every claim of the documents: report and figures in OUT
	$(BIN)/detent reproduce --out $(OUT) $(ARGS)

clean: ## remove the environment, caches and results
	rm -rf $(VENV) $(SCENES) results build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

system-packages:
	@tools/system-packages

scenes: # never fails: tests that lack the scenes skip themselves
	@$(MAKE) --no-print-directory $(SCENES)/.installed || echo "the scenes cannot be had here: their tests will be skipped"

$(SCENES)/.installed: requirements-scenes.lock
	$(PYTHON) -m venv $(SCENES)
	$(SCENES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-scenes.lock
	@touch $@

# The build backend is pinned in the lock too, hence no isolated build.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Detent needs Python 3.11 or newer: say which one with PYTHON=, as in make PYTHON=python3.12 run")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
