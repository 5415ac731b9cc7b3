# Every command of the project. `make` lists them.

PYTHON ?= python3
# tinygrad takes a variable of this name in the environment for a device to use.
unexport PYTHON
WORKERS ?= 2

BIN := .venv/bin
# The folders that are there now; a later package is checked as soon as its folder exists.
PRODUCT := $(wildcard kernels search runners service)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)
UV_COMPILE := $(CURDIR)/$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
LOCK_OPTIONS ?=
SOAK_OPTIONS ?=

.DEFAULT_GOAL := help
# One step after the other even under -j: the steps share .venv.
.NOTPARALLEL:
.PHONY: help demo serve worker setup test test-full check format bench-kernel bench-codegen soak-codegen parity update-golden lock clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: setup ## Tune the example kernels on this machine's device and serve the page; ONCE=1 ends after the table
	@$(BIN)/python -m service demo $(if $(ONCE),--once)

serve: setup ## Serve on loopback, with the database of BEAMTUNE_DATABASE_URL (else data/beamtune.db)
	$(BIN)/python -m service serve

worker: setup ## Tune what was sent to that database, on this machine's devices
	$(BIN)/python -m service worker

setup: ## Make .venv from the hashed requirements; done again only when they change
	@PYTHON=$(PYTHON) sh requirements/make_venv.sh

test: check ## What CI runs: setup, check and all tests but the slow ones
	$(PYTEST) -m "not slow"

test-full: check ## The same with the slow tests
	$(PYTEST)

check: setup ## Format, lint, types and import directions, in under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(PRODUCT)
	$(BIN)/lint-imports --no-logo

format: setup ## Format the code, and mend what the linter can mend by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-kernel: setup ## Time trying an Opt and parsing an AST, side by side with the oracle
	$(BIN)/python -m benchmarks.bench_kernel

bench-codegen: setup ## Time our programs on PoCL: against the oracle's, hand-written OpenCL and NumPy
	status=0; for each in bench_codegen bench_reach; do $(BIN)/python -m benchmarks.$$each || status=1; done; exit $$status

soak-codegen: setup ## Run 20,000 random candidates on PoCL, going on where the last run ended; SOAK_OPTIONS=--fresh begins anew
	$(BIN)/python -m benchmarks.soak_codegen $(SOAK_OPTIONS)

parity: setup ## Compare Kernel with the oracle on random Opt walks, at full length
	$(BIN)/python -m tests.parity

update-golden: setup ## Write the golden sources anew, after CODEGEN_VERSION in kernels/program.py was raised
	$(BIN)/python -m pytest tests/codegen/test_golden_sources.py --update-golden

lock: setup ## Resolve requirements/*.in into hashed *.txt; LOCK_OPTIONS=--upgrade takes newer versions
	cd requirements && $(UV_COMPILE) $(LOCK_OPTIONS) --output-file runtime.txt runtime.in
	cd requirements && $(UV_COMPILE) $(LOCK_OPTIONS) --output-file dev.txt dev.in

clean: ## Remove .venv and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
