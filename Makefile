# Each target sets up its own .venv: a fresh clone needs only Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
OUT ?= out

.PHONY: demo test test-oldest fuzz peers peers-cellrank peers-scvelo peers-squidpy lint bench docs dist check-release clean

demo: .venv/plot.done
	$(BIN)/sparrot demo --output $(OUT)

# In two processes; WORKERS=0 runs the tests in one, as `.venv/bin/python -m pytest FILE` does.
WORKERS ?= 2
test: .venv/test.done
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# With the oldest versions of all dependencies that pyproject.toml allows, in .venv/oldest. What these
# deprecate in each other is no concern of ours.
test-oldest: $(BIN)/python
	$(PYTHON) -m venv .venv/oldest
	$(BIN)/python tests/oldest.py > .venv/oldest.txt
	.venv/oldest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv/oldest.txt -e '.[test]'
	.venv/oldest/bin/python -m pytest -n $(WORKERS) --dist loadfile -W ignore::DeprecationWarning -W ignore::FutureWarning

# Thousands of hostile cases, for FUZZ_SECONDS=600 from FUZZ_SEED=0; prints a table.
fuzz: .venv/test.done
	$(BIN)/python tests/hostile/fuzz.py

# Scanpy's own tests with our graph, from a checkout of its source: make peers SCANPY=../scanpy
peers: .venv/test.done
	@test -n "$(SCANPY)" || { echo "name a checkout of scanpy: make peers SCANPY=../scanpy"; exit 1; }
	$(BIN)/python tests/peers/scanpy_tests.py $(SCANPY)

# What runs on scanpy's graphs, on ours; each in an environment of its own, in .venv/peers.
# scvelo 0.3.4 does not run with numpy 2.4.
peers-scvelo: WITH := 'numpy<2.4'
peers-cellrank peers-scvelo peers-squidpy: peers-%:
	$(PYTHON) -m venv .venv/peers/$*
	.venv/peers/$*/bin/python -m pip install --quiet --disable-pip-version-check '.[scanpy]' $* $(WITH)
	.venv/peers/$*/bin/python -W ignore tests/peers/$*_*.py

lint: .venv/lint.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/bench.done
	$(BIN)/python benchmarks/solver.py

docs: .venv/docs.done
	$(BIN)/python -m sphinx --fail-on-warning --keep-going docs docs/_build
	@echo "Open docs/_build/index.html"

# Wheel and sdist; each is installed into an empty environment, where README's lines and the demo are run.
dist: .venv/release.done
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/dist.py dist

# The files of a release, each by its own validator. (cffconvert has an environment of its own:
# it needs a jsonschema that is too old for the others.)
check-release: .venv/release.done
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet .github/workflows
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	$(BIN)/pre-commit validate-config
	$(BIN)/python -c 'import rattler_build as r; r.Stage0Recipe.from_file("recipe/recipe.yaml").render()'
	$(PYTHON) -m venv .venv/cff
	.venv/cff/bin/python -m pip install --quiet --disable-pip-version-check cffconvert
	.venv/cff/bin/cffconvert --validate

clean:
	rm -rf .venv $(OUT) docs/_build docs/gallery docs/api/generated docs/api/used .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "sparrot needs Python >= 3.11; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

# One stamp for each extra of pyproject.toml: .venv/test.done has installed sparrot[test].
.venv/%.done: $(BIN)/python pyproject.toml
	@echo "Installing sparrot[$*] into .venv: a minute or two, the first time"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@
