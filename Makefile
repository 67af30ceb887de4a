# Everything a newcomer needs: `make demo`, then `make test`. Each target sets up what it uses.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Python compiles what it imports, and keeps it, or each of the tests' processes would compile again;
# compiling all of what is installed would take a minute more.
unexport PYTHONDONTWRITEBYTECODE
# A pip of this year resolves in a third of the time that the one of Python 3.11 takes.
NEW_VENV := $(PYTHON) -m venv --upgrade-deps $(VENV)
# What an editable installation is, a page of setuptools says in spite of --quiet.
PIP    := PYTHONWARNINGS='ignore:Editable installation' $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-rerank check audit lock format docs bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready-dev ## Create .venv with everything, for development

demo: $(VENV)/.ready ## Ingest the demo documents, open a Slack look-alike, ask a question (ONCE=1: exit after it)
	@$(BIN)/oncall demo $(if $(ONCE),--once)

# A test is as often on the wait for a socket or a process as at work, hence more processes than cores.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test: $(VENV)/.ready-dev ## Run the tests, two at a time for each core, without those of test-all
	@$(PYTEST) -m 'not (browser or kill or outage or trial)' $(ARGS)

test-all: $(VENV)/.ready-dev ## Run every test, also those that open a browser, kill processes and stop servers
	@$(PYTEST) $(ARGS)

test-rerank: $(VENV)/.ready-rerank ## Run the tests of the cross-encoders, which `make test` skips without torch
	@$(BIN)/python -m pytest -k 'rerank or entailment or cross_encoder' tests/index/ranking/test_rerank.py \
	  tests/agents/checks/test_entailment_model.py tests/config/test_every_setting_works.py \
	  tests/test_supply_chain.py

check: $(VENV)/.ready-dev ## Lint, types, layering, code that nothing calls
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy --num-workers 2
	@$(BIN)/lint-imports
	@$(BIN)/vulture

audit: $(VENV)/.ready-audit ## Known vulnerabilities of the dependencies, and build/sbom.json
	@mkdir -p build
	@$(BIN)/cyclonedx-py requirements locks/base.txt \
	  --pyproject pyproject.toml --output-reproducible --no-validate \
	  --output-file build/sbom.json 2>build/sbom.log || { cat build/sbom.log; exit 1; }
	@$(BIN)/python .ci/audit.py

lock: $(VENV)/.ready-audit ## Write locks/, the hashes of what the image installs, after a change of constraints.txt
	@$(BIN)/python .ci/lock.py $(ARGS)

format: $(VENV)/.ready-dev ## Format the code
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

docs: $(VENV)/.ready-dev ## Write the parts of the documentation that code knows
	@$(BIN)/python docs/generate.py

bench: $(VENV)/.ready-dev ## Print the benchmark tables
	@for table in conversion enrichment retrieval retrieval_quality public_tables each_agent left_out injection access permission_checks slack_burst slack_faults; do \
	  echo; $(BIN)/python -m benchmarks.$$table || exit 1; done

clean: ## Remove what the demo and the tools wrote; keeps .venv
	@rm -rf var build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "Setting up $(VENV): a minute or two the first time…"
	@test -x $(BIN)/python || $(NEW_VENV)
	@$(PIP) --editable .
	@touch $@

# CI's way to have what its three targets need: pip resolves and builds once instead of thrice.
$(VENV)/.ready-ci: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(NEW_VENV)
	@$(PIP) --editable '.[audit,dev]'
	@touch $(VENV)/.ready $(VENV)/.ready-dev $(VENV)/.ready-audit $@

$(VENV)/.ready-dev: $(VENV)/.ready
	@$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.ready-rerank: $(VENV)/.ready-dev
	@$(PIP) --editable '.[dev,rerank]'
	@touch $@

$(VENV)/.ready-audit: $(VENV)/.ready
	@$(PIP) --editable '.[audit]'
	@touch $@
