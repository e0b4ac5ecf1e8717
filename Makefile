# Every target does its own set-up: a .venv with the packages pinned in constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: demo test test-slow lint golden clean help

demo: .venv/.installed  ## Train an agent by self-play for a few minutes and print how it does
	$(BIN)/python -m train.demo

test: .venv/.installed  ## Run the fast tests
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist worksteal --durations=15 tests

test-slow: .venv/.installed  ## Run the slow tests
	$(BIN)/python -m pytest -m slow -n 2 --dist worksteal --durations=15 tests

lint: .venv/.installed  ## Check style, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy king_env agents train tests

golden: .venv/.installed  ## Write the golden files and the tables of docs/ anew, after a meant change
	$(BIN)/python -m king_env.reference
	$(BIN)/python -m tests.golden.make

clean:  ## Remove .venv, builds and caches; runs/ stays
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/.installed: pyproject.toml constraints.txt
	@echo "Setting up .venv, once; this takes a few minutes..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,dev]"
	@touch $@
