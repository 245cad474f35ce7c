.DEFAULT_GOAL := help
.PHONY: help setup demo run test storm check

BIN := .venv/bin

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install everything into .venv; does nothing when that is current
	@tools/setup.sh

demo: setup ## Take a ticket to a verified branch, on this machine, in about a minute
	@$(BIN)/omoi demo

run: setup ## Start the platform on port 18000 and keep it running until Ctrl-C
	@$(BIN)/omoi serve

test: setup ## Run every test
	$(BIN)/pytest -n logical --maxprocesses 4 --dist loadfile

storm: setup ## Run 200 tasks, 20 at a time, while the orchestrator is killed every few seconds
	STORM_TASKS=200 STORM_AT_ONCE=20 STORM_SECONDS=3600 $(BIN)/pytest tests/faults/test_storm.py

check: setup ## Lint, format, types, imports, and the sandbox's profile with no skips
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	PYTHONPATH=tools $(BIN)/pytest tests/providers -q -p no_skips
