# The front door. `make help` lists what it offers.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
SOURCES = $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp')
export CCACHE_BASEDIR := $(CURDIR)

.PHONY: help setup build demo test test-asan bench soak format format-check tidy clean cluster-up cluster-down
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: ## install missing Debian packages and the pinned wheels (dry run: scripts/setup.sh --dry-run)
	@scripts/setup.sh

build: setup ## build everything into build/release (PRESET=debug, asan, tsan: into build/<preset>)
	@cmake --preset $(PRESET) > $(CURDIR)/.cmake.log 2>&1 || { cat .cmake.log; exit 1; }
	@rm -f .cmake.log
	@cmake --build --preset $(PRESET) -j $(JOBS)

demo: build ## replay a real day on three private Slurm clusters; ends with a table, a report and a sample (TEXT=path: train on your own text)
	@scripts/demo.sh $(if $(TEXT),--text "$(TEXT)")

test: build ## build and run every test
	@ctest --test-dir $(BUILD) --output-on-failure -j 2 -LE bench

test-asan: ## unit tests under address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory build PRESET=asan
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS) -L unit

bench: build ## measure; prints ratios and keeps them in results/bench
	@scripts/bench.py

soak: build ## long repetitions of the fault tests, resumable, result in results/soak
	@scripts/soak.sh

format: ## clang-format everything
	@clang-format -i $(SOURCES)

format-check: ## fail if something is not formatted
	@clang-format --dry-run --Werror $(SOURCES)

tidy: build ## clang-tidy over all sources
	@run-clang-tidy -quiet -p $(BUILD) '/(src|tests)/.*\.cpp$$'

clean: ## remove what was built (results/ and .deps/ stay)
	@rm -rf build

cluster-up: ## start the private Slurm clusters of the demo
	@slurm/private_clusters.sh up

cluster-down: ## stop them
	@slurm/private_clusters.sh down
