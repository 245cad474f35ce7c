.DEFAULT_GOAL := help
.PHONY: help setup demo run test usertest user-tests providers storm flood powercut check types bench screenshots image

BIN := .venv/bin
# Docker's tests run separately: the first time they install an engine and build an image, which takes minutes and a network.
DOCKER := tests/providers/docker
# Tests whose result depends on privileges: sandboxes, salvage, faults, worker, stream.
PRIVILEGED := tests/faults tests/orchestrator tests/providers/local/test_provider.py tests/sandboxes tests/stream tests/worker tests/system/test_open_files.py
# Two for each processor: many tests wait for processes.
WORKERS := $(shell echo $$(($$(nproc) * 2)))

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install everything into .venv; does nothing when that is current
	@tools/setup.sh

demo: setup ## Take a ticket to a verified branch in about a minute
	@$(BIN)/omoi demo

run: setup ## Run the platform on port 18000 until Ctrl-C
	@$(BIN)/omoi serve

test: setup ## Run the tests, except those of providers and of the page in a browser, which `make check` runs
	$(BIN)/pytest -n $(WORKERS) --maxprocesses 5 --dist loadfile --no-loadscope-reorder --ignore=tests/providers --ignore=tests/browser

usertest: ## As root: run the tests that depend on privileges as an ordinary user, in a fresh clone
	tools/as_user.sh make user-tests

# What `make usertest` runs as an ordinary user, without the page.
user-tests: export OMOI_SKIP_WEB = 1
user-tests: setup
	$(BIN)/pytest -n $(WORKERS) --maxprocesses 5 --dist loadfile --no-loadscope-reorder $(PRIVILEGED)

providers: setup ## As root: run the docker provider's tests on a real engine
	$(BIN)/pytest $(DOCKER)

storm: setup ## Run 200 tasks, 20 at a time, while the orchestrator is killed every few seconds
	STORM_TASKS=200 STORM_AT_ONCE=20 STORM_SECONDS=3600 $(BIN)/pytest tests/faults/test_storm.py

powercut: setup ## As root: cut the power of a platform's disk 20 times and look for everything acknowledged
	POWER_CUTS=20 POWER_TASKS=4 $(BIN)/pytest -s tests/faults/test_power_cuts.py tests/gateway/git/test_power_cut.py

flood: setup ## Post a million events from 200 workers while APIs, database and Redis are killed repeatedly
	FLOOD_EVENTS=1000000 FLOOD_WORKERS=200 FLOOD_KILLS=40 FLOOD_CRASHES=10 FLOOD_RESTARTS=10 FLOOD_PAUSE=20 FLOOD_SECONDS=7200 \
		$(BIN)/pytest -s tests/faults/test_ingest.py

check: setup ## Lint, format, types, imports, words, and the tests of providers and of the page, none of them skipped
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PYTHONPATH=tools $(BIN)/lint-imports
	$(BIN)/python tools/words.py
	$(BIN)/python tools/web.py check
	PYTHONPATH=tools $(BIN)/pytest tests/providers -q -p no_skips --ignore=$(DOCKER)
	PYTHONPATH=tools $(BIN)/pytest tests/browser -q -p no_skips -n 2 --dist loadfile

types: setup ## Generate the page's API types from the OpenAPI description
	$(BIN)/python tools/web.py types

bench: setup ## Measure speed and print each figure next to its goal
	@$(BIN)/python -m benchmarks

screenshots: setup ## Take the pictures in docs/images from the real page
	$(BIN)/python tools/screenshots.py

image: ## Build the image for sandboxes of the docker and daytona providers
	docker build --tag omoi-sandbox .
