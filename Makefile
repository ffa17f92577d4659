# SPDX-License-Identifier: Apache-2.0
# The front door. `make help` lists the targets.
PRESET ?= release
JOBS ?= $(shell nproc)
# ctest counts in fifths of a core (PROCESSORS): five tests that mostly wait share a core.
FIFTHS = $(shell echo $$(( 5 * $(JOBS) )))
PREFIX ?= /usr/local
BUILD := build/$(PRESET)
SOURCES = $(shell git ls-files -co --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh')

.PHONY: help setup configure programs build gpu-build gpu-check gpu-bundle \
    install package demo test test-unit test-asan bench bench-rounds \
    soak chaos mutants compilers docs format format-check tidy metrics clean cluster-up cluster-down
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

setup: ## install missing Debian packages and the pinned wheels
	@scripts/setup.sh $(SETUP_OPTIONS)

configure: setup
	@mkdir -p $(BUILD)
	@cmake --preset $(PRESET) $${CURTAIL_TORCH_ROOT:+"-DCURTAIL_TORCH_ROOT=$$CURTAIL_TORCH_ROOT"} \
	    > $(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

programs: configure ## build the programs into build/release/bin
	@cmake --build --preset $(PRESET) -j $(JOBS) --target programs

build: configure ## build programs and tests (PRESET=debug, asan+ubsan or tsan)
	@cmake --build --preset $(PRESET) -j $(JOBS)

gpu-build: ## build the programs for GPUs (CUDA 13) into build/gpu/bin and check their code; needs no GPU
	@$(MAKE) --no-print-directory programs PRESET=gpu SETUP_OPTIONS=--gpu
	@exec scripts/gpu/sass.py --quiet

gpu-check: gpu-build ## check and measure that build on this machine's GPU, with the PyTorch of python3
	@exec scripts/gpu/measure.sh build/gpu-check 600

gpu-bundle: gpu-build ## pack it for machines with PyTorch 2.11 for CUDA 13
	@exec scripts/gpu/bundle.py

install: programs ## install the programs into PREFIX [/usr/local]
	@cmake --install $(BUILD) --prefix "$(PREFIX)"

package: programs ## write a tarball of the programs into build/release
	@cd $(BUILD) && cpack --config CPackConfig.cmake

# Scripts use this build.
demo bench bench-rounds soak chaos mutants: export CURTAIL_BUILD := $(CURDIR)/$(BUILD)

demo: programs ## replay 18 recorded hours on three private Slurm clusters (TEXT=path: your text; STORE=s3: over S3; TRANSPORT=mpi: also over MPI)
	@exec scripts/demo.sh $${STORE:+--store "$$STORE"} $${TRANSPORT:+--transport "$$TRANSPORT"} \
	    $${TEXT:+--text "$$TEXT"}

test: build ## build and run every test
	@ctest --test-dir $(BUILD) --output-on-failure -j $(FIFTHS)

test-unit: build ## build everything and run the unit tests
	@ctest --test-dir $(BUILD) --output-on-failure -j $(FIFTHS) -L unit

test-asan: ## unit tests under address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory build PRESET=asan+ubsan
	@ctest --test-dir build/asan+ubsan --output-on-failure -j $(FIFTHS) -L unit

bench: build ## measure pairs of commands and print their ratios; results in results/bench
	@exec bench/bench.py

bench-rounds: build ## measure parts of a round and print their ratios; results in results/bench-rounds
	@exec bench/bench_rounds.py

soak: build ## repeat the fault tests many times; resumable; results in results/soak
	@exec scripts/soak.sh

chaos: build ## break rounds of three real sites at 200 seeded moments; resumable; results in results/chaos
	@exec scripts/chaos.sh

mutants: configure ## break one rule of the round protocol after the other: the simulator must notice; resumable; results in results/mutants
	@exec scripts/mutants.sh

compilers: setup ## check all sources with g++-11, g++-12 and clang-14, without precompiled headers
	@exec scripts/check_compilers.py

docs: ## write the pages of all public declarations into build/docs/html (needs doxygen)
	@command -v doxygen > /dev/null || \
	    { echo "make docs: doxygen is missing; run apt-get install doxygen" >&2; exit 69; }
	@mkdir -p build/docs && doxygen docs/Doxyfile && echo build/docs/html/index.html

format: ## clang-format everything
	@clang-format -i $(SOURCES)

format-check: ## fail if clang-format would change a file
	@clang-format --dry-run --Werror $(SOURCES)

tidy: ## clang-tidy over all sources, in a build without precompiled headers
	@$(MAKE) --no-print-directory configure PRESET=tidy
	@run-clang-tidy -quiet -p build/tidy -extra-arg=-Wno-unknown-warning-option \
	    -extra-arg=-Wno-unused-command-line-argument \
	    '$(CURDIR)/(src|tests|bench)/.*\.cpp$$'

metrics: ## print sizes and complexity of src/ and check their limits (make setup installs lizard)
	@exec scripts/code_metrics.py --check

clean: ## remove build/ (results/ and .deps/ stay)
	@[ ! -e build/clusters/sites ] || \
	    { echo "clusters may be up: run make cluster-down first" >&2; exit 75; }
	@rm -rf build

cluster-up: ## start the private Slurm clusters of the demo
	@slurm/private_clusters.sh up

cluster-down: ## stop them
	@slurm/private_clusters.sh down
