# `make run` sets up and starts Detent; `make test` sets up and passes all tests.

PYTHON ?= python3
OUT    ?= results
ARGS   ?=
JOBS   ?= $(shell expr 1 + $$(nproc 2>/dev/null || echo 2))  # tests on the wall clock wait more than they compute

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
SCENES := .venv-scenes
BOUNDS := tests/servo/test_every_stage.py
# What is never imported need not be compiled; what is, Python compiles then, and keeps it for the
# hundreds of processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
PIP    := --quiet --disable-pip-version-check --no-compile
PYTEST := $(BIN)/python -m pytest
# A file's tests share what they compute, so a worker takes whole files, in the order of conftest.py.
PARALLEL := $(PYTEST) -n $(JOBS) --dist loadfile --no-loadscope-reorder
# Files with tests that must have the machine to themselves: to collect all others takes seconds.
ALONE = $(shell grep -rl --include=*.py "mark\.alone" tests)
PAGES = $(shell grep -rl --include=test_*.py "mark\.browser" tests)
SUB := $(MAKE) --no-print-directory
# $(1) beside $(2), which take one core each; what fails has the last word.
beside = @log=$$(mktemp); $(SUB) $(1) >$$log 2>&1 & $(SUB) $(2); second=$$?; wait $$!; first=$$?; \
	if [ $$first -ne 0 ] || [ $$second -eq 0 ]; then cat $$log; fi; rm $$log; exit $$((first | second))
# ARGS may leave one of several runs without tests, which pytest calls 5.
OR_NONE = $(if $(ARGS),|| [ $$? -eq 5 ])

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test quick test-long test-clock test-most test-pages test-rest test-scenes check bench reproduce clean
.PHONY: installed checked system-packages scenes compiled bounds plain mutants hashes

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  Variables: PYTHON (the interpreter, 3.11 or newer), ARGS (passed on), JOBS (tests at once), OUT (reproduce's folder)"

run: $(STAMP) ## start the workbench in the browser (detent play)
	$(BIN)/detent play $(ARGS)

test: system-packages installed checked test-clock test-most ## all checks, then all tests

quick: $(STAMP) compiled plain ## tests without browser, wall clock and what is long
	$(PARALLEL) -m "not live and not browser and not slow and not uncompiled and not long" $(ARGS)

test-long: export DETENT_LONG = 1
test-long: system-packages installed checked compiled ## all tests, with the full counts of sweeps
	$(PYTEST) -m alone $(ALONE) $(ARGS) $(OR_NONE)
	$(PARALLEL) -m "not alone" $(ARGS) $(OR_NONE)

installed:
	$(call beside,scenes,$(STAMP))

checked: $(STAMP)
	$(call beside,check plain,bounds)

# What is about the clock itself has the machine to itself.
test-clock: $(STAMP) compiled
	$(PYTEST) -m "alone and not long" $(ALONE) $(ARGS) $(OR_NONE)

# A page that is drawn in software needs a core whenever it has something to draw: one at a time,
# and before all others. Those have the last word in `make test`, because they are most.
test-most: $(STAMP) compiled
	$(call beside,test-rest,test-pages)

test-pages: $(STAMP)
	$(PYTEST) -m "browser and not alone and not long" $(PAGES) $(ARGS) $(OR_NONE)

test-rest: $(STAMP)
	nice -n 19 $(PARALLEL) -m "not browser and not alone and not uncompiled and not long" $(ARGS) $(OR_NONE)

# What is compiled for this alone is optimised little: how fast it is does not matter.
bounds: export NUMBA_BOUNDSCHECK = 1
bounds: export NUMBA_OPT = 1
bounds: $(STAMP) ## a few ticks of every stage, with each index checked
	@$(BIN)/python tests/warm.py
	$(PYTEST) -n $(JOBS) $(BOUNDS)

# Kernels by themselves, as plain Python: to compile each for its own test takes longer than to run it.
# Compiled they run as parts of stages in all other tests, and by themselves in `make test-long`.
plain: export NUMBA_DISABLE_JIT = 1
plain: $(STAMP) ## tests of single kernels, without the compiler
	$(PYTEST) -m "uncompiled and not long" tests/kernels $(ARGS) $(OR_NONE)

mutants: $(STAMP) ## break the compiled sources in many places, and see whether tests notice
	$(BIN)/python tools/mutants.py $(ARGS)

hashes: $(STAMP) ## state hashes of one run per world and experiment, each run twice
	@$(BIN)/python tools/hashes.py $(ARGS)

test-scenes: $(STAMP) $(SCENES)/.robots ## scenes and robots of seven packages, held and pushed, as a table
	$(BIN)/python tests/wild.py $(SCENES)/lib/python*/site-packages $(ARGS)

check: $(STAMP) ## lint, format, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_imports.py

bench: $(STAMP) ## side-by-side ratios (detent bench)
	$(BIN)/detent bench $(ARGS)

reproduce: $(STAMP) ## every claim of the documents: report and figures in OUT
	$(BIN)/detent reproduce --out $(OUT) $(ARGS)

docs: $(VENV)/.docs ## the documentation as a site in OUT/docs, tutorials run; nothing is fetched to read it
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs $(OUT)/docs
	@echo "the site is $(OUT)/docs/index.html"

pictures: $(STAMP) ## every picture of the documentation, in docs/pictures
	$(BIN)/python tools/pictures.py $(ARGS)

clean: ## remove the environment, caches and results
	rm -rf $(VENV) $(SCENES) results build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

system-packages:
	@tools/system-packages

compiled: $(STAMP) # before workers start, each of which would compile the same
	@$(BIN)/python tests/warm.py

scenes: # never fails: tests that lack the scenes skip themselves
	@$(MAKE) --no-print-directory $(SCENES)/.installed || echo "the scenes cannot be had here: their tests will be skipped"

$(SCENES)/.installed: requirements-scenes.lock
	$(PYTHON) -m venv $(SCENES)
	$(SCENES)/bin/python -m pip install $(PIP) --no-deps -r requirements-scenes.lock
	@touch $@

# Half a gigabyte of meshes, which `make test` does not need.
$(SCENES)/.robots: $(SCENES)/.installed requirements-robots.lock
	$(SCENES)/bin/python -m pip install $(PIP) --no-deps -r requirements-robots.lock
	@touch $@

$(VENV)/.docs: $(STAMP) requirements-docs.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-docs.lock
	@touch $@

# The build backend is pinned in the lock too, hence no isolated build.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Detent needs Python 3.11 or newer: say which one with PYTHON=, as in make PYTHON=python3.12 run")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP) -r requirements.lock
	$(BIN)/python -m pip install $(PIP) --no-deps --no-build-isolation -e .
	@touch $@
