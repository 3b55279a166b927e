# make demo: see what Interlock does.  make test: everything a change must pass, in one go.
# Both make their own virtual environment and need nothing but Python 3.11+ and make.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
JOBS ?= 2

.PHONY: demo test test-vscode lint format docs bench bench-check bench-lsp bench-engine bench-growth clean test-editors campaign-agreement campaign-simulation campaign-cells campaign-leases campaign-fuzz crash model campaign-mutation

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Interlock needs Python 3.11 or newer, and none was found." >&2; exit 2; }
	@echo "Setting up a virtual environment in $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q analyzer engine server
	@touch $@

demo: $(STAMP)
	@$(BIN)/python examples/demo.py

test: $(STAMP) lint
	$(BIN)/pytest -n $(JOBS) --dist worksteal

# Neovim and Emacs against the language server; Debian's packages, where they can be had.
test-editors: $(STAMP)
	@command -v nvim >/dev/null && command -v emacs >/dev/null || { \
		echo "Installing Neovim and Emacs ..."; \
		apt-get install -y -q neovim emacs-nox elpa-eglot || echo "They cannot be installed; their tests are skipped."; }
	$(BIN)/pytest tests/server/lsp/test_editors.py -rs

# The editor's extension, apart from `make test`. E2E=1 drives a real editor as well. Gets what it needs: Node 20
# or newer, and for E2E=1 Chromium and code-server.
test-vscode: $(STAMP)
	@cd vscode-extension && { test -d node_modules || scripts/with-node.sh npm ci --ignore-scripts --no-audit --no-fund; }
	@cd vscode-extension && scripts/with-node.sh npm run --silent test
	@if [ -n "$(E2E)" ]; then cd vscode-extension && scripts/with-node.sh npm run --silent e2e; fi

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python -m interlock.server.cli.main rules --write docs/rules
	$(BIN)/python docs/make_reference.py

# Everything that is measured, beside its peers; ROUNDS of it.  The curves take the longest (100,000 runs).
bench: bench-check bench-lsp bench-engine bench-growth

bench-check: $(STAMP)
	$(BIN)/python benchmarks/check.py --rounds $(or $(ROUNDS),3)

bench-lsp: $(STAMP)
	$(BIN)/python benchmarks/lsp.py --peers

bench-engine: $(STAMP)
	$(BIN)/python benchmarks/engine.py --rounds $(or $(ROUNDS),3) --no-growth

# The curves of docs/benchmarks.md, measured and drawn.
bench-growth: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python benchmarks/plots.py growth waiters check

# Generated workflows, run and with planted mistakes: N of them from SEED on, each with a SHARE of the mistakes.
# A failing seed replays with make campaign-agreement SEED=… N=1.
campaign-agreement: $(STAMP)
	$(BIN)/python tests/agreement/campaign.py --count $(or $(N),200000) --seed $(or $(SEED),100000) \
		--share $(or $(SHARE),0.05) --jobs $(JOBS)

# Mutated texts through everything that reads them, N of them from SEED on.  What breaks something is made smaller and
# kept in fuzz-kept/; GUIDED=1 lets atheris steer, where it is installed.  PROTOCOL=200 makes it N conversations of 200
# messages with the language server, EXPRESSIONS=1 N expressions for each claim about them.
campaign-fuzz: $(STAMP)
	$(BIN)/python tests/fuzz/campaign.py --count $(or $(N),1000000) --seed $(or $(SEED),1000) --jobs $(JOBS) \
		$(if $(GUIDED),--guided) $(if $(PROTOCOL),--protocol $(PROTOCOL)) $(if $(EXPRESSIONS),--expressions)

# Processes killed with SIGKILL, N of them, on stores from SEED on; losses of power beside them.  A fault is
# printed with the command that plays its round again.
crash: $(STAMP)
	$(BIN)/python tests/crash/campaign.py --kills $(or $(N),300) --seed $(or $(SEED),0)

# The engine in the simulation, until N transitions have been decided: random workflows and named scenarios under
# crashes, stops, late workers and wrong clocks, on SQLite.  A seed that breaks prints the line that replays it.
campaign-simulation: $(STAMP)
	$(BIN)/python tests/simulation/campaign.py --transitions $(or $(N),1000000) --seed $(or $(SEED),0) --jobs $(JOBS)

# The cells without SQLite, over plain dictionaries: whole runs, and keys and queues by themselves.
campaign-cells: $(STAMP)
	$(BIN)/python tests/simulation/campaign.py --store cells --transitions $(or $(N),5000000) \
		--seed $(or $(SEED),1000000) --jobs $(JOBS)

campaign-leases: $(STAMP)
	$(BIN)/python tests/simulation/campaign.py --store leases --transitions $(or $(N),100000000) \
		--seed $(or $(SEED),0) --jobs $(JOBS)

# Small faults put into the core, SAMPLE of them by chance (0: all): which ones do no test and no simulation notice?
campaign-mutation: $(STAMP)
	$(BIN)/python tests/mutation/campaign.py --sample $(or $(SAMPLE),300) --seed $(or $(SEED),1) \
		--minutes $(or $(MINUTES),0)

# The protocol of leases and admission as a model, explored whole by Spin (Debian's spin and gcc, where they can be
# had), with faults that it must find, and SEEDS of the simulation played against it.
model: $(STAMP)
	@command -v spin >/dev/null && command -v gcc >/dev/null || { \
		echo "Installing Spin and a C compiler ..."; \
		apt-get update -qq && apt-get install -y -qq spin gcc libc6-dev; }
	$(BIN)/python tests/model/check.py --traces $(or $(SEEDS),40)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
