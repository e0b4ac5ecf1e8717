# Every target does its own set-up: a .venv with the packages pinned in constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: demo test test-slow test-frameworks test-rllib test-agilerl lint golden clean help

demo: .venv/.installed  ## Train an agent by self-play for a few minutes and print how it does
	$(BIN)/python -m train.demo

test: .venv/.installed  ## Run the fast tests
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist worksteal --durations=15 tests

test-slow: .venv/.installed  ## Run the slow tests
	$(BIN)/python -m pytest -m slow -n 2 --dist worksteal --durations=15 tests

# Frameworks that cannot share an environment have one of their own, which also shows that our
# environments pass with its older Gymnasium (rllib) or PettingZoo (agilerl).
test-frameworks: .venv-frameworks/.installed  ## Test OpenSpiel, RLCard, TorchRL, Tianshou, skrl and SB3
	KING_PINS=constraints-frameworks.txt KING_FRAMEWORKS="open_spiel rlcard sb3_contrib skrl tianshou torchrl" \
		.venv-frameworks/bin/python -m pytest --durations=10 tests/frameworks tests/test_house.py

test-rllib: .venv-rllib/.installed  ## Test Ray RLlib, and our environments with Gymnasium 1.2.2
	KING_PINS=constraints-rllib.txt KING_FRAMEWORKS="ray.rllib" KING_VERSIONS="gymnasium==1.2.2" \
		.venv-rllib/bin/python -m pytest -m "not slow" --durations=10 tests/frameworks tests/envs tests/test_house.py

test-agilerl: .venv-agilerl/.installed  ## Test AgileRL, and our environments with PettingZoo 1.26.1
	KING_PINS=constraints-agilerl.txt KING_FRAMEWORKS="agilerl" KING_VERSIONS="pettingzoo==1.26.1" \
		.venv-agilerl/bin/python -m pytest -m "not slow" --durations=10 tests/frameworks tests/envs tests/test_house.py

lint: .venv/.installed  ## Check style, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy king_env agents train tests

golden: .venv/.installed  ## Write the golden files and the tables of docs/ anew, after a meant change
	$(BIN)/python -m king_env.reference
	$(BIN)/python -m tests.golden.make

clean:  ## Remove .venv, builds and caches; runs/ stays
	rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.venv/.installed: pyproject.toml constraints.txt
	@echo "Setting up .venv, once; this takes a few minutes..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[train,dev,ray]"
	@touch $@

.PRECIOUS: .venv-%/.installed
.venv-%/.installed: pyproject.toml constraints-%.txt
	@echo "Setting up .venv-$*, once; this takes a few minutes..."
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-$*.txt -e ".[$*,test]"
	@touch $@
