# SPDX-License-Identifier: Apache-2.0
# The front door. `make help` lists what it offers.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
SOURCES = $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp')

.PHONY: help setup build demo test test-asan bench soak format format-check tidy clean cluster-up cluster-down
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: ## install missing Debian packages and the pinned wheels (dry run: scripts/setup.sh --dry-run)
	@scripts/setup.sh

build: setup ## build everything into build/release (PRESET=debug, asan+ubsan, tsan: into build/<preset>; CURTAIL_TORCH_ROOT=path: another LibTorch)
	@mkdir -p $(BUILD)
	@cmake --preset $(PRESET) $${CURTAIL_TORCH_ROOT:+"-DCURTAIL_TORCH_ROOT=$$CURTAIL_TORCH_ROOT"} > $(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
	@cmake --build --preset $(PRESET) -j $(JOBS)

# What was built is what the scripts use.
demo bench soak: export CURTAIL_BUILD := $(CURDIR)/$(BUILD)

demo: build ## replay a real day on three private Slurm clusters; ends with a table, a report and a sample (TEXT=path: train on your own text)
	@exec scripts/demo.sh $${TEXT:+--text "$$TEXT"}

test: build ## build and run every test
	@ctest --test-dir $(BUILD) --output-on-failure -j 2

test-asan: ## unit tests under address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory build PRESET=asan+ubsan
	@ctest --test-dir build/asan+ubsan --output-on-failure -j $(JOBS) -L unit

bench: build ## measure; prints ratios and keeps them in results/bench
	@exec scripts/bench.py

soak: build ## long repetitions of the fault tests, resumable, result in results/soak
	@exec scripts/soak.sh

format: ## clang-format everything
	@clang-format -i $(SOURCES)

format-check: ## fail if something is not formatted
	@clang-format --dry-run --Werror $(SOURCES)

tidy: build ## clang-tidy over all sources
	@run-clang-tidy -quiet -p $(BUILD) '/(src|tests)/.*\.cpp$$'

clean: ## remove what was built (results/ and .deps/ stay)
	@[ ! -e build/clusters/sites ] || { echo "clusters may be up: make cluster-down first" >&2; exit 75; }
	@rm -rf build

cluster-up: ## start the private Slurm clusters of the demo
	@slurm/private_clusters.sh up

cluster-down: ## stop them
	@slurm/private_clusters.sh down
